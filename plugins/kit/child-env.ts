/** The environment of a child: what a build needs, no keys of ours, nothing that bends the shell or waits for a person. */
import { delimiter, isAbsolute } from 'node:path';

/** Names, and beginnings of names, that are handed on. Anything else has to be named in the configuration (`env:`). Compared without case: Windows, and `http_proxy`. */
const NAMES = new Set(`
  PATH HOME USER LOGNAME USERNAME SHELL LANG LANGUAGE TZ TMPDIR TMP TEMP HOSTNAME CI NO_COLOR DEBUG DISPLAY WAYLAND_DISPLAY
  HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE
  SSH_AUTH_SOCK SSH_AGENT_PID GIT_SSH GIT_SSH_COMMAND GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM
  DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG DOCKER_BUILDKIT KUBECONFIG AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION
  NODE_ENV NODE_PATH NODE_OPTIONS NODE_EXTRA_CA_CERTS DENO_DIR BUN_INSTALL PNPM_HOME COREPACK_HOME NODENV_ROOT
  PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 VIRTUAL_ENV PIPX_HOME POETRY_HOME UV_CACHE_DIR
  GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOENV GOFLAGS GOPROXY GOPRIVATE GONOPROXY GOSUMDB GONOSUMDB GOINSECURE GOOS GOARCH GOTOOLCHAIN GO111MODULE RUBYLIB RUBYOPT
  CLASSPATH M2_HOME RUSTFLAGS RUST_LOG RUST_BACKTRACE GEM_HOME GEM_PATH RBENV_ROOT BUNDLE_PATH PERL5LIB LUA_PATH LUA_CPATH
  CC CXX CPP LD AR CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS LD_LIBRARY_PATH DYLD_LIBRARY_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH
  PKG_CONFIG_PATH ACLOCAL_PATH MANPATH INFOPATH NIX_PATH
  SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 USERPROFILE USERDOMAIN HOMEDRIVE HOMEPATH
  OS NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE MSYSTEM
`.trim().split(/\s+/));
const BEGINNINGS = ['LC_', 'XDG_', 'GIT_AUTHOR_', 'GIT_COMMITTER_', 'NPM_CONFIG_', 'NVM_', 'FNM_', 'VOLTA_', 'ASDF_', 'MISE_', 'PYENV_', 'CONDA_', 'UV_', 'PIP_', 'CGO_', 'CARGO_', 'RUSTUP_', 'JAVA_', 'JDK_',
  'MAVEN_', 'GRADLE_', 'KOTLIN_', 'SDKMAN_', 'ANDROID_', 'DOTNET_', 'NUGET_', 'HOMEBREW_', 'NIX_', 'CMAKE_', 'CUDA_', 'COMPOSER_'];
const SECRET = /API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_AUTH$/i;
/** They change what a command line means; nobody may set them, as the words that were judged are the words that are run. */
const BENDS_SHELL = /^(BASH_.*|ENV|SHELLOPTS|BASHOPTS|PS4|CDPATH|GLOBIGNORE|IFS|PROMPT_COMMAND|POSIXLY_CORRECT)$/i;

/** No editor, pager, password window or question: nobody is there to answer. */
const ALONE: Readonly<Record<string, string>> = {
  GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true', GIT_SEQUENCE_EDITOR: 'true', EDITOR: 'true', VISUAL: 'true', GIT_MERGE_AUTOEDIT: 'no',
  PAGER: 'cat', GIT_PAGER: 'cat', MANPAGER: 'cat', SSH_ASKPASS_REQUIRE: 'never', DEBIAN_FRONTEND: 'noninteractive', TERM: 'dumb',
};

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** `base` is filtered, `extra` (the configuration's `env`) is handed on whatever its names are, but for what bends the shell. */
export function childEnv(base: Readonly<Record<string, string | undefined>>, extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const passed = Object.entries(base).filter(([name]) => isPlain(name) && !SECRET.test(name));
  const env: Record<string, string> = {};
  for (const [name, value] of [...passed, ...Object.entries(ALONE), ...Object.entries(extra)]) if (value !== undefined && !BENDS_SHELL.test(name)) env[name] = value;
  const path = Object.keys(env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH';
  // An empty value would mean the folder a command runs in.
  const entries = cleanPath(env[path] ?? '') || (process.platform === 'win32' ? '' : DEFAULT_PATH);
  if (entries !== '') env[path] = entries;
  return env;
}

function isPlain(name: string): boolean {
  const upper = name.toUpperCase();
  return NAMES.has(upper) || BEGINNINGS.some((b) => upper.startsWith(b));
}
/** An empty or relative entry would find programs in whatever folder a command runs in. */
const cleanPath = (path: string): string => path.split(delimiter).filter((entry) => isAbsolute(entry)).join(delimiter);
