#!/usr/bin/env bash
# Writes the manual pages of a built `sallyport`, from what the program says of itself:
# scripts/man-pages.sh PROGRAM DIRECTORY
set -euo pipefail
program=$1 directory=$2
version=$("$program" version | cut -d' ' -f2)
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%F)
mkdir -p "$directory"

# Text as it stands: what roff would take for its own is escaped.
as_it_stands() {
    echo .EX
    sed -e 's/\\/\\e/g' -e 's/-/\\-/g' \
        -e "s/^\([.']\)/\\\\\&\1/" -e "s/'/\\\\(aq/g" -e 's/`/\\(ga/g'
    echo .EE
}

commands() { "$program" help | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p'; }

{
    cat <<-ROFF
	.TH SALLYPORT 1 "$date" "Sallyport $version" "User Commands"
	.SH NAME
	sallyport \- reverse proxy that puts Apple App Attest in front of an API
	.SH SYNOPSIS
	.B sallyport
	.I COMMAND
	.RI [ OPTION ...]
	.SH DESCRIPTION
	Sallyport forwards a request only if the request proves that it comes from a genuine instance
	of an app on a genuine Apple device, and that it has not been sent before.
	.PP
	ROFF
    "$program" help | sed -e 1,2d | as_it_stands
    echo .SH COMMANDS
    for command in $(commands); do
        echo ".SS $command"
        "$program" "$command" --help | as_it_stands
    done
    cat <<-'ROFF'
	.SH SIGNALS
	.TP
	.B SIGHUP
	Read the configuration again. If it has an error, the settings in use stay.
	.TP
	.B SIGUSR2
	Hand over to the program that now has the name by which this one was started, without
	dropping a request.
	.TP
	.BR SIGTERM ", " SIGINT
	Answer the requests in progress, then exit.
	.SH FILES
	.TP
	.I /etc/sallyport/sallyport.yaml
	The configuration, see
	.BR sallyport.yaml (5).
	.TP
	.I /var/lib/sallyport
	The registry of keys, and the secrets that belong to it.
	.SH SEE ALSO
	.BR sallyport.yaml (5)
	.PP
	.I /usr/share/doc/sallyport
	has the operator's guide and complete configurations to start from.
	ROFF
} > "$directory/sallyport.1"

{
    cat <<-ROFF
	.TH SALLYPORT.YAML 5 "$date" "Sallyport $version" "File Formats"
	.SH NAME
	sallyport.yaml \- configuration of the Sallyport gateway
	.SH DESCRIPTION
	This page is a configuration with every setting. A value is its default unless a comment
	calls it an example. The same text is in
	.IR /usr/share/doc/sallyport/examples/sallyport.yaml .
	.PP
	ROFF
    "$program" schema --example | as_it_stands
    cat <<-'ROFF'
	.SH SEE ALSO
	.BR sallyport (1)
	ROFF
} > "$directory/sallyport.yaml.5"
