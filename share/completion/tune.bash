# bash completion of tune(1): subcommands, the options of each (asked from --help), files.
_tune()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local verbs="run submit work list status attach cancel devices spaces best log show measure model recheck replay ladder deploy hub doctor keygen"

    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "$verbs --help --version" -- "$cur"))
        return
    fi
    if [ "${COMP_WORDS[1]}" = log ] && [ "$COMP_CWORD" -eq 2 ]; then
        COMPREPLY=($(compgen -W "merge dedup best compare stat check convert compact --help" -- "$cur"))
        return
    fi
    if [ "${COMP_WORDS[1]}" = hub ] && [ "$COMP_CWORD" -eq 2 ]; then
        COMPREPLY=($(compgen -W "push pull list --help" -- "$cur"))
        return
    fi
    case $prev in
    --strategy | --tuner) COMPREPLY=($(compgen -W "auto model genetic annealing diffevo pso ils random grid" -- "$cur")) ;;
    --network) COMPREPLY=($(compgen -W "vgg-16 vgg-19 resnet-18 resnet-50 inception-v3" -- "$cur")) ;;
    --device) COMPREPLY=($(compgen -W "opencl replay:" -- "$cur")) ;;
    *)
        case $cur in
        -*) COMPREPLY=($(compgen -W "$("${COMP_WORDS[@]:0:$(case ${COMP_WORDS[1]} in log | hub) echo 3 ;; *) echo 2 ;; esac)}" --help 2>/dev/null | grep -o -- '--[a-z-]*' | sort -u)" -- "$cur")) ;;
        *) COMPREPLY=($(compgen -f -- "$cur")) ;;
        esac
        ;;
    esac
}
complete -o filenames -F _tune tune
