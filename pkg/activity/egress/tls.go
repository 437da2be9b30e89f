package egress

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// TLS is what a step says under `tls` (docs/language.md). Certificates and keys are texts in PEM, so that they can be secrets.
type TLS struct {
	CA         string `json:"ca"`
	Cert       string `json:"cert"`
	Key        string `json:"key"`
	MinVersion string `json:"min_version"`
	ServerName string `json:"server_name"`
}

var versions = map[string]uint16{"": tls.VersionTLS12, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// Config makes the configuration of connections; nil options are those of a step that says nothing. The error is a *workflow.Error, and holds
// nothing of a key.
func (o *TLS) Config() (*tls.Config, error) {
	if o == nil {
		o = &TLS{}
	}
	c := &tls.Config{MinVersion: versions[o.MinVersion], ServerName: o.ServerName}
	if c.MinVersion == 0 {
		return nil, wrongTLS("min_version: it is neither '1.2' nor '1.3'")
	}
	if o.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(o.CA)) {
			return nil, wrongTLS("ca: there is no certificate in it: give the text of a PEM file, -----BEGIN CERTIFICATE-----…")
		}
	}
	if o.Cert == "" && o.Key == "" {
		return c, nil
	}
	pair, err := tls.X509KeyPair([]byte(o.Cert), []byte(o.Key))
	if err != nil {
		return nil, wrongTLS("cert and key do not make a pair: give the texts of two PEM files")
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// wrongTLS is the error of options that can never work, as activities raise it.
func wrongTLS(why string) error {
	return workflow.Errorf("activity.input", workflow.CategoryActivity, "tls: %s", why)
}
