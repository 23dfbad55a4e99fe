# What the run.sh of each benchmark begins with; to be sourced.

# show_help FILE ARGUMENT: the comment at the head of FILE, and the end, if ARGUMENT asks for it.
show_help() {
  case $2 in
    -h | --help)
      sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$1"
      exit 0
      ;;
  esac
}

# install_missing PACKAGE...
install_missing() {
  if dpkg -s "$@" >/dev/null 2>&1; then return 0; fi
  as_root=""
  [ "$(id -u)" = 0 ] || as_root=sudo
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y --no-install-recommends "$@"
}
