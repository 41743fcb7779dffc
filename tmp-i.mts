import ignore from 'ignore';
for (const pat of [`${'*[a]'.repeat(8)}[b]`, `${'*?'.repeat(8)}b`, `${'**/a/'.repeat(5)}b`, `${'*[^b]'.repeat(8)}b`]) {
  const name = pat.includes('/') ? `${'a/'.repeat(200)}bc` : `${'a'.repeat(120)}bc`;
  const ig = ignore({ ignorecase: false }).add(pat!); const t = performance.now();
  console.log(pat, ig.test(name).ignored, (performance.now() - t).toFixed(1));
}
