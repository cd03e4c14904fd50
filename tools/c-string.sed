# Each line of a text as a string literal of C, without trigraphs.
s/[\\"]/\\&/g
s/??/?\\?/g
s/.*/"&\\n"/
