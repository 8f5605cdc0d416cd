# needs: find grep
find /usr/include -name 'std*.h' | sort | xargs grep -l size_t | wc -l
