# SPDX-License-Identifier: MIT
# bash completion of tune(1). It knows no names: subcommands, verbs, options and the words that an option takes are asked of --help.

# _tune_names [SUBCOMMAND]: the subcommands there are, or the verbs of one.
_tune_names()
{
    "${COMP_WORDS[0]}" "$@" --help 2>/dev/null |
        awk '/^(subcommands|verbs):$/ { on = 1; next } NF == 0 { on = 0 } on { print $1 }'
}

# _tune_words OPTION: of a help text, what stands behind "one of" of that option.
_tune_words()
{
    awk -v option="$1" '
        /^  -/ { mine = $1 == option || $2 == option || $NF == option; on = 0 }
        mine && sub(/^ +one of /, "") { on = 1 }
        on { print }'
}

_tune()
{
    local cur=${COMP_WORDS[COMP_CWORD]} names help words
    local -a command=("${COMP_WORDS[@]:0:2}")

    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "$(_tune_names) --help --version" -- "$cur"))
        return
    fi
    names=$(_tune_names "${COMP_WORDS[1]}")
    if [ -n "$names" ] && [ "$COMP_CWORD" -eq 2 ]; then
        COMPREPLY=($(compgen -W "$names --help" -- "$cur"))
        return
    fi
    [ -z "$names" ] || command+=("${COMP_WORDS[2]}")
    help=$("${command[@]}" --help 2>/dev/null)
    words=$(_tune_words "${COMP_WORDS[COMP_CWORD - 1]}" <<<"$help")
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$(grep -o -- '--[a-z-]*' <<<"$help" | sort -u)" -- "$cur"))
    else
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}
complete -o filenames -F _tune tune
