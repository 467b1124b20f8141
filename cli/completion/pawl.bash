# SPDX-License-Identifier: MIT
# bash completion for pawl(1)

_pawl() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=
	COMPREPLY=()

	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W 'board demo explain help next run store top --help --version' -- "$word"))
		return
	fi
	if [ "${COMP_WORDS[1]}" = help ]; then
		[ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W 'board demo explain next run store top' -- "$word"))
		return
	fi
	case ${COMP_WORDS[1]} in
	board) options='--server --listen --write --token-file --origin --tls-ca --tls-cert --tls-key --help' ;;
	demo) options='--count --seconds --workers --seed --inspect --help' ;;
	explain) options='--tick --wheel-size --start --svg --help' ;;
	next) options='--zone --count --from --help' ;;
	run) options='--line --exec --jobs --replay --speed --zone --strict --help' ;;
	store) options='--count --dead --queue --into --help' ;;
	top) options='--once --json --interval --page --listen --token-file --origin --help' ;;
	esac
	case $before in
	--svg | --inspect | --token-file | --tls-ca | --tls-cert | --tls-key) COMPREPLY=($(compgen -f -- "$word")) && return ;;
	--exec) COMPREPLY=($(compgen -c -- "$word")) && return ;;
	--into) COMPREPLY=($(compgen -d -- "$word")) && return ;;
	--queue | -e | --line | -n | --count | --from | --seconds | --workers | --seed | --tick | --wheel-size | --start | --jobs | --speed | --interval | --server | --listen | --origin) return ;;
	--zone) COMPREPLY=($(cd /usr/share/zoneinfo 2>/dev/null && compgen -f -- "$word")) && return ;;
	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
	*)
		case ${COMP_WORDS[1]} in
		run | top) COMPREPLY=($(compgen -f -- "$word")) ;;
		store)
			COMPREPLY=($(compgen -d -- "$word"))
			[ "$COMP_CWORD" -ne 2 ] || COMPREPLY=($(compgen -W 'check list repair stat' -- "$word"))
			;;
		esac
		;;
	esac
}

complete -o filenames -F _pawl pawl
