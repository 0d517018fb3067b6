#!/usr/bin/env bash
# Says whether a built program has what a linker and a compiler can do against a memory error:
# scripts/hardening.sh PROGRAM
# Ends with 1 if something is missing. scripts/package.sh makes no package of such a program.
set -euo pipefail
program=$1
# Read once each: grep -q would end before readelf does, and with it the pipe.
head=$(readelf -hW "$program")
segments=$(readelf -lW "$program")
dynamic=$(readelf -dW "$program")
symbols=$(readelf --dyn-syms -W "$program")
missing=0

# Says what holds if the words are there (or, with "no", if they are not).
has() {
    local what=$1 want=$2 text=$3 words=$4 found=no
    if grep -qE "$words" <<< "$text"; then found=yes; fi
    if [ "$found" = "$want" ]; then
        echo "ok       $what"
    else
        echo "MISSING  $what"
        missing=1
    fi
}

has "its place in memory is random (PIE)" yes "$head" '^ *Type: +DYN'
has "relocations are read-only (RELRO)" yes "$segments" 'GNU_RELRO'
has "and bound before the program runs (BIND_NOW)" yes "$dynamic" 'BIND_NOW|Flags:.*NOW'
has "the stack cannot be executed" no "$segments" 'GNU_STACK .* RWE'
has "nothing is both written and executed" no "$segments" 'LOAD .* RWE'
has "code has no relocations (TEXTREL)" no "$dynamic" 'TEXTREL'
has "libraries come from the system alone (no RUNPATH)" no "$dynamic" 'RUNPATH|RPATH'
has "C code notices an overrun stack buffer" yes "$symbols" '__stack_chk_fail'
exit "$missing"
