module example.org/servicekit/scenario

go 1.18
