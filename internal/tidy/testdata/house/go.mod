module example.com/house

go 1.26

require (
	example.org/listed v1.2.3
	example.org/behind v1.5.0
	example.org/unlisted v0.1.0
	example.org/through v0.2.0 // indirect
)
