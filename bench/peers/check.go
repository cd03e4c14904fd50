// For bench/bindings.c: 1,000 checks for each line.
package main

import (
	"context"
	"log"
	"os"

	"example.org/stet"
)

func main() {
	session, err := stet.OpenSession(".", "")
	if err != nil {
		log.Fatal(err)
	}
	ctx, line := context.Background(), make([]byte, 1)
	if err := session.TrackRead(ctx, "tracked.c"); err != nil {
		log.Fatal(err)
	}
	for n, _ := os.Stdin.Read(line); n == 1; n, _ = os.Stdin.Read(line) {
		for i := 0; i < 1000; i++ {
			if modified, err := session.Modified(ctx, "tracked.c"); modified || err != nil {
				log.Fatal(modified, err)
			}
		}
		os.Stdout.WriteString("\n")
	}
}
