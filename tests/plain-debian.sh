#!/bin/sh
# Usage: plain-debian.sh RELEASE TARGET...
# On a freshly bootstrapped Debian (bookworm, trixie) with the packages that the README names and no others: makes each TARGET
# (demo, test) as an ordinary user and as root, in a checkout below a directory of mode 0700, with /dev/ptmx a link. Needs
# root, debootstrap and Debian's mirror. STENO_DEBIAN keeps the bootstrapped systems for the next time; STENO_USERS chooses.
set -eu

release=$1
shift
checkout=$(cd "$(dirname "$0")/.." && pwd)
kept=${STENO_DEBIAN:-$(mktemp -d)}
system=$kept/$release
# The first code block's sentence is the one source of what is needed.
packages=$(sed -n 's/.*`apt-get install \([a-z0-9 -]*\)`.*/\1/p' "$checkout/README.md" | head -n 1)
[ -n "$packages" ] || { echo "plain-debian: README.md names no packages" >&2; exit 1; }

if [ ! -e "$system/ready" ]; then
    mkdir -p "$kept"
    debootstrap --variant=minbase "$release" "$system" >"$system.log" 2>&1 || { tail -n 5 "$system.log" >&2; exit 1; }
    # shellcheck disable=SC2086 # a list of words on purpose
    DEBIAN_FRONTEND=noninteractive chroot "$system" apt-get install -y -qq --no-install-recommends $packages >"$system.log" 2>&1 ||
        { tail -n 5 "$system.log" >&2; exit 1; }
    # Whatever this machine needs to reach its packages, that one needs, too.
    for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [ ! -e "$file" ] || install -D -m 644 "$file" "$system$file"
    done
    chroot "$system" useradd --create-home ada
    : >"$system/ready"
fi

inside() { # USER HOME COMMAND: with /proc, /sys, cgroups and terminals of its own, as a container has them
    unshare --mount --pid --fork --kill-child sh -eu -c '
        system=$1 user=$2 home=$3 command=$4
        mount --make-rprivate /
        mount --bind "$system" "$system"
        cd "$system"
        mount -t proc none proc
        mount -t sysfs none sys
        mount -t cgroup2 none sys/fs/cgroup
        mount -t tmpfs -o mode=755 none dev
        for device in null zero full random urandom tty; do
            touch "dev/$device" && mount --bind "/dev/$device" "dev/$device"
        done
        mkdir dev/pts dev/shm
        mount -t devpts -o newinstance,ptmxmode=666,mode=620 none dev/pts
        mount -t tmpfs -o mode=1777 none dev/shm
        ln -s pts/ptmx dev/ptmx
        ln -s /proc/self/fd dev/fd
        for stream in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${stream%%:*}" "dev/${stream#*:}"; done
        mkdir -p old && pivot_root . old
        umount -l /old
        path=/usr/local/bin:/usr/bin:/bin
        [ "$user" != root ] || path=/usr/local/sbin:/usr/sbin:/sbin:$path
        exec env -i HOME="$home" PATH="$path" LANG=C.UTF-8 TERM=xterm USER="$user" ${PIP_CERT:+PIP_CERT="$PIP_CERT"} \
            setpriv --reuid "$user" --regid "$user" --init-groups sh -c "$command"
    ' sh "$system" "$1" "$2" "$3"
}

for user in ${STENO_USERS:-ada root}; do
    home=$(chroot "$system" sh -c "echo ~$user")
    chmod 700 "$system$home"
    rm -rf "$system$home/steno"
    git clone -q "$checkout" "$system$home/steno"
    chroot "$system" chown -R "$user:$user" "$home/steno"
    for target in "$@"; do
        log=$kept/$release-$user-$target.log
        if inside "$user" "$home" "cd && cd steno && make $target" >"$log" 2>&1 </dev/null; then
            echo "ok      $release: make $target as $user"
        else
            echo "FAILED  $release: make $target as $user: $log"
            failed=1
        fi
    done
done
[ -z "${failed:-}" ]
