package httpcall

import (
	"crypto/tls"
	"crypto/x509"
)

// tlsOptions are what a step says about TLS. Certificates and keys are texts in PEM.
type tlsOptions struct {
	CA         string `json:"ca"`
	Cert       string `json:"cert"`
	Key        string `json:"key"`
	MinVersion string `json:"min_version"`
	ServerName string `json:"server_name"`
}

var versions = map[string]uint16{"": tls.VersionTLS12, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

func (o *tlsOptions) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: versions[o.MinVersion], ServerName: o.ServerName}
	if c.MinVersion == 0 {
		return nil, wrong("tls: min_version: %s is neither '1.2' nor '1.3'", quoted(o.MinVersion))
	}
	if o.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(o.CA)) {
			return nil, wrong("tls: ca: there is no certificate in it: give the text of a PEM file, -----BEGIN CERTIFICATE-----…")
		}
	}
	if o.Cert == "" && o.Key == "" {
		return c, nil
	}
	pair, err := tls.X509KeyPair([]byte(o.Cert), []byte(o.Key))
	if err != nil {
		return nil, wrong("tls: cert and key do not make a pair: give the texts of two PEM files")
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}
