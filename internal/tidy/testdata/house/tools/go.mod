module example.com/house/tools

go 1.26

tool example.org/checker/cmd/check

require example.org/checker v3.1.4 // indirect
