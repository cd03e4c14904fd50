//go:build !stet_archive

package stet

// #cgo pkg-config: stet
import "C"
