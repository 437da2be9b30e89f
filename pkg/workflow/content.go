package workflow

import (
	"encoding/json"
	"reflect"
)

// Content is what the identity of a definition is made of: its JSON form without the places of things in the document. So a comment or an empty
// line makes no other workflow of it. Definitions that differ in anything else have different contents.
func (d *Definition) Content() ([]byte, error) {
	whole, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var plain Definition
	if err := json.Unmarshal(whole, &plain); err != nil {
		return nil, err
	}
	forgetPlaces(reflect.ValueOf(&plain).Elem())
	return json.Marshal(&plain)
}

var placeType = reflect.TypeFor[Position]()

// forgetPlaces sets every Position in a value to zero. Values of users are bytes, which it does not look into.
func forgetPlaces(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			forgetPlaces(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == placeType {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			forgetPlaces(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			forgetPlaces(v.Index(i))
		}
	}
}
