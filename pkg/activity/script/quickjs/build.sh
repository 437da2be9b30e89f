#!/bin/sh
# Builds quickjs.wasm from the sources of QuickJS-NG (MIT), a folder with quickjs.c in it, and engine.c:
#
#	git clone --depth 1 --branch v0.17.0 https://github.com/quickjs-ng/quickjs
#	python3 -m pip install ziglang==0.15.2
#	pkg/activity/script/quickjs/build.sh quickjs
#
# ZIG is the compiler, any clang with a WASI libc does.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sources=${1:?the folder of QuickJS-NG 0.17.0}
for version in 'MAJOR 0' 'MINOR 17' 'PATCH 0'; do
	grep -q "QJS_VERSION_$version\$" "$sources/quickjs.h" || { echo "$sources is not QuickJS-NG 0.17.0" >&2; exit 1; }
done
${ZIG:-python3 -m ziglang} cc --target=wasm32-wasi -mexec-model=reactor -std=gnu23 -Os -DNDEBUG -D_GNU_SOURCE -DQUICKJS_NG_BUILD -w \
	"-I$sources" "$here/engine.c" "$sources/quickjs.c" "$sources/libregexp.c" "$sources/libunicode.c" "$sources/dtoa.c" \
	-Wl,-z,stack-size=1048576 -Wl,--gc-sections -Wl,-s -o "$here/quickjs.wasm"
