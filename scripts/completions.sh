#!/usr/bin/env bash
# Writes the completions of bash, zsh and fish for a built `sallyport`, from what the program says
# of itself: scripts/completions.sh PROGRAM DIRECTORY
set -euo pipefail
program=$1 directory=$2
mkdir -p "$directory"

# Each command and, behind a tab, what help says of it.
summaries() {
    "$program" help | sed -nE "s/^  ([a-z][a-z-]*)( .*[^ ])?  +([^ ].*)$/\1\t\3/p"
}

# The options that a command's help names.
options() {
    "$program" "$1" --help | grep -oE '(^|[][ (|])-(-[a-z][a-z-]*|[A-Za-z])\b' |
        sed -E 's/^[^-]*//' | sort -u
}

# The words that may stand behind a command: the actions that its help lists, or the kinds that its
# usage names.
words() {
    "$program" "$1" --help | sed -nE -e '1s/^.* ([a-z-]+(\|[a-z-]+)+)( .*)?$/\1/p' \
        -e '1{/ ACTION /!q}' -e 's/^  ([a-z]+)( .*)?$/\1/p' | tr '|' '\n' | sort -u
}

in_a_line() { paste -sd ' '; }

commands=$(summaries | cut -f1 | in_a_line)

{
    cat <<-BASH
	# bash completion for sallyport, made from its help by scripts/completions.sh.
	_sallyport() {
	    local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
	    local options words=
	    COMPREPLY=()
	    if [ "\$COMP_CWORD" -eq 1 ]; then
	        COMPREPLY=(\$(compgen -W "$commands help" -- "\$current"))
	        return
	    fi
	    case "\${COMP_WORDS[1]}" in
	BASH
    for command in $commands; do
        echo "        $command)"
        echo "            options='$(options "$command" | in_a_line)'"
        echo "            words='$(words "$command" | in_a_line)'"
        echo "            ;;"
    done
    cat <<-'BASH'
	        *) return ;;
	    esac
	    if [[ $current == -* && $previous != -c ]]; then
	        COMPREPLY=($(compgen -W "$options" -- "$current"))
	    elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
	        COMPREPLY=($(compgen -W "$words" -- "$current"))
	    else
	        compopt -o filenames
	        local IFS=$'\n'
	        COMPREPLY=($(compgen -f -- "$current"))
	    fi
	}
	complete -F _sallyport sallyport
	BASH
} > "$directory/sallyport.bash"

# In single quotes, as both shells read them.
zsh_quoted() { sed -e "s/'/'\\\\''/g" -e 's/:/\\:/g'; }
fish_quoted() { sed -e 's/\\/\\\\/g' -e "s/'/\\\\'/g"; }

{
    cat <<-'ZSH'
	#compdef sallyport
	# zsh completion for sallyport, made from its help by scripts/completions.sh.
	local -a commands options actions
	commands=(
	ZSH
    summaries | zsh_quoted | sed -E "s/^([^\t]+)\t(.*)$/    '\1:\2'/"
    cat <<-'ZSH'
	)
	if (( CURRENT == 2 )); then
	    _describe command commands
	    return
	fi
	case $words[2] in
	ZSH
    for command in $commands; do
        echo "    $command)"
        echo "        options=($(options "$command" | in_a_line))"
        echo "        actions=($(words "$command" | in_a_line))"
        echo "        ;;"
    done
    cat <<-'ZSH'
	esac
	if [[ $words[CURRENT] == -* ]]; then
	    compadd -- $options
	elif (( CURRENT == 3 && $#actions )); then
	    compadd -- $actions
	else
	    _files
	fi
	ZSH
} > "$directory/_sallyport"

{
    echo '# fish completion for sallyport, made from its help by scripts/completions.sh.'
    summaries | fish_quoted | while IFS=$'\t' read -r command summary; do
        echo "complete -c sallyport -f -n __fish_use_subcommand -a $command -d '$summary'"
    done
    for command in $commands; do
        seen="'__fish_seen_subcommand_from $command'"
        for option in $(options "$command"); do
            case "$option" in
                -c) echo "complete -c sallyport -n $seen -s c -r -F -d 'Configuration'" ;;
                --*) echo "complete -c sallyport -n $seen -l ${option#--}" ;;
                -*) echo "complete -c sallyport -n $seen -s ${option#-} -r" ;;
            esac
        done
        words=$(words "$command" | in_a_line)
        if [ -n "$words" ]; then
            echo "complete -c sallyport -n $seen -a '$words'"
        fi
    done
} > "$directory/sallyport.fish"
