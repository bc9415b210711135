# Functions of prove_clean_root and prove_packages: a Debian 12 system in a folder. The caller sets `dir` and `root`.
# shellcheck shell=bash
mirror="${WEIR_DEBIAN_MIRROR:-http://deb.debian.org/debian}"

# in_root NETWORK COMMAND: its mounts and processes end with it.
in_root() {
  local flags=(--mount --pid --fork --kill-child --propagation private)
  [[ "$1" == online ]] || flags+=(--net)
  unshare "${flags[@]}" bash -euc '
    [[ "$2" == online ]] || ip link set lo up
    mount -t proc proc "$1/proc"
    mount --rbind /sys "$1/sys"
    mount --rbind /dev "$1/dev"
    chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
      ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} /bin/bash -euc "$3" < /dev/null
    running="$(chroot "$1" /bin/bash -c "cat /proc/[0-9]*/comm 2> /dev/null" || true)"
    left="$(grep -vxE "bash|cat|unshare" <<< "$running" || true)"
    [[ -z "$left" ]] || { echo "left behind in the root: $left" >&2; exit 1; }
  ' _ "$root" "$1" "$2"
}

# new_root PACKAGE…: a fresh root with these packages. The system is made once (base.tar). This machine's apt settings and
# certificates are copied into the root, so that its mirror works there too.
new_root() {
  if [[ ! -f "$dir/base.tar" ]]; then
    rm -rf "$root"
    debootstrap --variant=minbase bookworm "$root" "$mirror"
    tar -C "$root" --one-file-system -cf "$dir/base.tar.part" .
    mv "$dir/base.tar.part" "$dir/base.tar"
  fi
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  tar -C "$root" -xf "$dir/base.tar"

  rm -f "$root"/etc/apt/sources.list
  cp -a /etc/apt/. "$root/etc/apt/"
  for path in /etc/resolv.conf /etc/hosts /etc/ssl/certs /usr/local/share/ca-certificates; do
    [[ ! -e "$path" ]] || { mkdir -p "$root$(dirname "$path")"; cp -rL "$path" "$root$(dirname "$path")/"; }
  done
  in_root online "apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $*"
}
