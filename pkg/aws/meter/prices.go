package meter

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Prices is a table of prices.
type Prices struct {
	Region string  `json:"region"`
	Note   string  `json:"note"`
	Prices []Price `json:"prices"`
}

// Price is what some units cost.
type Price struct {
	Unit    Unit    `json:"unit"`
	Dollars float64 `json:"dollars"`
	Per     float64 `json:"per"`
	// AsOf is the day of what the price was read from, Source where it is published.
	AsOf   string `json:"as_of"`
	Source string `json:"source"`
	Note   string `json:"note,omitempty"`
}

//go:embed prices.json
var defaultPrices []byte

// DefaultPrices are those of us-east-1.
func DefaultPrices() Prices {
	p, err := ParsePrices(defaultPrices)
	if err != nil {
		panic(err) // the table is part of the program, and tested
	}
	return p
}

// ParsePrices reads a table, as prices.json has it.
func ParsePrices(data []byte) (Prices, error) {
	var p Prices
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("meter: the table of prices: %w", err)
	}
	for _, x := range p.Prices {
		if x.Unit == "" || x.Per <= 0 || x.Dollars < 0 {
			return p, fmt.Errorf("meter: the price of %q must be dollars per so many units", x.Unit)
		}
	}
	return p, nil
}

// UnpricedError says that a table lacks a price.
type UnpricedError struct {
	Unit   Unit
	Region string
}

// Error says what to do.
func (e *UnpricedError) Error() string {
	return fmt.Sprintf("meter: the prices of %s have none for %s: add one", e.Region, e.Unit)
}

// Cost is what a usage costs, in dollars. A unit without a price is an *UnpricedError.
func (p Prices) Cost(u Usage) (float64, error) {
	sum := 0.0
	for of, n := range u.Units { // order-free: a sum, whose last bits nobody looks at
		price, err := p.of(of)
		if err != nil {
			return 0, err
		}
		sum += n * price.Dollars / price.Per
	}
	return sum, nil
}

func (p Prices) of(u Unit) (Price, error) {
	for _, x := range p.Prices {
		if x.Unit == u {
			return x, nil
		}
	}
	return Price{}, &UnpricedError{u, p.Region}
}
