// Package project reads the project file, wovyr.yaml: what a workflow's documents leave to the place where they run.
//
//	functions:
//	  inventory.reserve: { command: [ python3, reserve.py ] }
//	  price.quote:       { url: http://127.0.0.1:9000/quote }
//	secrets:
//	  pay:  { env: PAY_KEY }
//	  mail: { file: secrets/mail.txt }
//	  bank: { encrypted: bank }
//	data: .wovyr                      # where executions are kept
//	listen: 127.0.0.1:7233            # of wovyr dev
//	egress: { allow: [ 10.1.0.0/16 ] }  # what activities may call besides public addresses
package project
