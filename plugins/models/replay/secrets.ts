/** Takes out of a text what looks like a key, so that a recording can be shown and kept. */

const HIDDEN = '{{secret}}';
/** Each begins at the edge of a word and names its maker, or the field that it stands in; what merely looks random stays. */
const PATTERNS: readonly RegExp[] = [
  /\bsk-[A-Za-z0-9_-]{16,}/g, // Anthropic, OpenAI and those that copy them
  /\bAIza[0-9A-Za-z_-]{35}/g, // Google API keys
  /\bya29\.[0-9A-Za-z_-]{20,}/g, // Google OAuth
  /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g, // AWS key ids
  /\bgh[pousr]_[A-Za-z0-9]{36,}/g, // GitHub
  /\bgithub_pat_[A-Za-z0-9_]{22,}/g,
  /\bglpat-[A-Za-z0-9_-]{20,}/g, // GitLab
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g, // Slack
  /\bhooks\.slack\.com\/services\/[A-Za-z0-9/]+/g,
  /\bnpm_[A-Za-z0-9]{36}/g,
  /\bpypi-[A-Za-z0-9_-]{50,}/g,
  /\bhf_[A-Za-z0-9]{30,}/g, // Hugging Face
  /\bgsk_[A-Za-z0-9]{40,}/g, // Groq
  /\bxai-[A-Za-z0-9]{40,}/g,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g, // Stripe
  /\bwhsec_[A-Za-z0-9+/=]{24,}/g,
  /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/g, // SendGrid
  /\bdop_v1_[a-f0-9]{64}/g, // DigitalOcean
  /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, // JSON web tokens
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];
/** A field and its value: the field stays. */
const FIELDS: readonly RegExp[] = [
  /\b((?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?)[^\s"',;]{6,}/gi,
  /\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}/gi,
  /((?:api[_-]?key|secret[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|client[_-]?secret|password|passwd|AccountKey)["']?\s*[:=]\s*["']?)[^\s"',;&]{6,}/gi,
  /\b([a-z][a-z0-9+.-]*:\/\/[^\s/:@]+:)[^\s/@]+(?=@)/gi,
];
const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;

/** Also takes out the values of environment variables that are named like secrets. */
export function redactor(env: Readonly<Record<string, string | undefined>>): (text: string) => string {
  const values = Object.entries(env).flatMap(([name, value]) => (value !== undefined && value.length >= 8 && SECRET_NAME.test(name) ? [value] : [])).sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const value of values) clean = clean.replaceAll(value, HIDDEN);
    for (const pattern of PATTERNS) clean = clean.replace(pattern, HIDDEN);
    for (const field of FIELDS) clean = clean.replace(field, `$1${HIDDEN}`);
    return clean;
  };
}
