# needs: npm node
mkdir pkg app
echo '{"name":"pkg","version":"1.0.0","main":"i.js"}' > pkg/package.json
echo 'module.exports = 42' > pkg/i.js
echo '{"name":"app","version":"1.0.0"}' > app/package.json
cd app && npm install --silent --offline --no-audit --no-fund --install-links ../pkg
node -e 'console.log(require("pkg"))'
node -e 'process.exit(9)'
echo rc=$?
