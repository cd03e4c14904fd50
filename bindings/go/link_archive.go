//go:build stet_archive

package stet

// #cgo CFLAGS: -I${SRCDIR}/lib/include
// #cgo linux,amd64 LDFLAGS: ${SRCDIR}/lib/linux_amd64/libstet.a -lm
// #cgo linux,arm64 LDFLAGS: ${SRCDIR}/lib/linux_arm64/libstet.a -lm
import "C"
