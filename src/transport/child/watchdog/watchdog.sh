# Kills what a host process leaves behind. Reads a line of its host's: `+ <token> <leader>` enters a process group, which
# is a session of its own, `- <token>` strikes it out. The line ends with the host, however that ends.
trap '' HUP INT QUIT TERM PIPE
set -f
known=' '
while read -r sign token leader; do
  case $sign$known in
    +*" $token:"*) ;;
    +*) known="$known$token:$leader " ;;
    -*" $token:"*)
      rest=${known#*" $token:"}
      known="${known%%" $token:"*} ${rest#* }"
      ;;
  esac
done
[ "$known" = ' ' ] && exit

leaders=' '
for entry in $known; do
  leaders="$leaders${entry#*:} "
  kill -9 "-${entry#*:}"
done
# Who left the group but not the session. Some may be starting others just now, so that it takes more than one look.
set +f
for look in 1 2 3 4 5 6 7 8; do
  found=
  for stat in /proc/[0-9]*/stat; do
    read -r line <"$stat" || continue
    # Behind the name, which may hold anything: the state, the parent, the group, the session.
    set -- ${line##*) }
    case $1$leaders in
      [ZX]*) ;;
      *" $4 "*)
        id=${stat#/proc/}
        kill -9 "${id%/stat}" && found=1
        ;;
    esac
  done
  [ "$found" ] || exit
done
