// appender.mjs FILE: append numbered lines to a file, 0 to 5 ms apart, until the input ends; then print
// how many there were.
import { appendFileSync } from 'node:fs';

const file = process.argv[2];
let count = 0;
let done = false;

process.stdin.resume().on('end', () => (done = true));

function append() {
	if (done) {
		console.log(count);
		return;
	}
	appendFileSync(file, `tick ${++count}\n`);
	setTimeout(append, Math.random() * 5);
}
append();
