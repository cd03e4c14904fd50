module example.org/stet

go 1.19
