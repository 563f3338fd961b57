/**
 * Why an attempt at an engine failed, in words for operators: one closed table. Conditions, problems, `weir explain`, the
 * log and the metrics take the cause from here. Callers never see it.
 */
export interface CauseRow {
  /** What the engine does, after its name: `vllm-a refuses connections`. */
  readonly says: string;
  /** The same in at most six words, for tables. Absent: `says` is as short. */
  readonly words?: string;
  /** What the operator can do about it. */
  readonly action: string;
  /** The reason of the Backend's condition: one word in CamelCase. */
  readonly reason: string;
  /** The person who can take the action. */
  readonly who: keyof typeof actors;
}

/** The persons who can end a cause. `nobody`: the cause ends without an action, or is not a fault. */
export const actors = {
  gateway: 'the gateway operator',
  engine: 'the engine operator',
  account: 'the provider account’s owner',
  nobody: 'nobody',
} as const;

/** Causes by which no connection is made. */
const unreachable = {
  'connection-refused': {
    says: 'refuses connections',
    action: 'Start the engine, or correct host and port in spec.endpoint',
    reason: 'ConnectionRefused',
    who: 'engine',
  },
  'no-such-host': {
    says: 'has a host name that DNS cannot resolve',
    words: 'has a host name without address',
    action: 'Correct the host in spec.endpoint, or the gateway’s DNS',
    reason: 'NoSuchHost',
    who: 'gateway',
  },
  'connect-timeout': {
    says: 'does not answer a connection in time',
    words: 'does not answer connections in time',
    action: 'Check the address, network policies and firewalls on the way',
    reason: 'ConnectTimeout',
    who: 'gateway',
  },
  'no-route': {
    says: 'has no network route',
    action: 'Check the address, and the network between gateway and engine',
    reason: 'NoNetworkRoute',
    who: 'gateway',
  },
  'fails-health-check': {
    says: 'passes no health check',
    action: 'Start or repair the engine, or correct spec.healthCheck',
    reason: 'NoHealthyEndpoint',
    who: 'engine',
  },
  'not-in-envoy': {
    says: 'is not in Envoy yet',
    action: 'Look in Envoy’s log for the reason',
    reason: 'MissingInEnvoy',
    who: 'gateway',
  },
  'connect-failed': {
    says: 'cannot be connected to',
    action: 'Check host, port and TLS in spec.endpoint',
    reason: 'ConnectFailed',
    who: 'gateway',
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

/** Causes in the TLS of the connection. */
const withoutTls = {
  'certificate-expired': {
    says: 'has an expired certificate, or one that is not valid yet',
    words: 'has an expired certificate',
    action: 'Renew the engine’s certificate',
    reason: 'CertificateExpired',
    who: 'engine',
  },
  'certificate-unknown-authority': {
    says: 'has a certificate of an unknown authority',
    words: 'has an untrusted certificate',
    action: 'Name the authority in spec.endpoint.tls, or give the engine a certificate of a known one',
    reason: 'CertificateUnknownAuthority',
    who: 'gateway',
  },
  'certificate-other-name': {
    says: 'has a certificate for another host name',
    words: 'has another host’s certificate',
    action: 'Correct the host, or the server name in spec.endpoint.tls',
    reason: 'CertificateOtherName',
    who: 'gateway',
  },
  'certificate-required': {
    says: 'requires a client certificate, or refuses the one it got',
    words: 'requires another client certificate',
    action: 'Give the Backend a client certificate that the engine accepts',
    reason: 'CertificateRequired',
    who: 'gateway',
  },
  'no-tls': {
    says: 'speaks plain HTTP where TLS is expected',
    words: 'speaks plain HTTP, not TLS',
    action: 'Use http:// in spec.endpoint, or the engine’s TLS port',
    reason: 'NoTls',
    who: 'gateway',
  },
  'tls-expected': {
    says: 'expects TLS, but gets plain HTTP',
    words: 'expects TLS, not plain HTTP',
    action: 'Use https:// in spec.endpoint',
    reason: 'TlsExpected',
    who: 'gateway',
  },
  'tls-failed': {
    says: 'fails the TLS handshake',
    action: 'Compare the TLS versions and ciphers of the engine with those of Envoy',
    reason: 'TlsFailed',
    who: 'engine',
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

/** Causes of an engine that answers, and refuses. */
const refusing = {
  'credential-refused': {
    says: 'refuses the credential',
    words: 'refuses its key',
    action: 'Correct the key in the Backend’s Secret',
    reason: 'CredentialRefused',
    who: 'gateway',
  },
  'no-quota': {
    says: 'has no money or quota left',
    action: 'Top up the account at the provider, or raise its limit',
    reason: 'NoQuota',
    who: 'account',
  },
  'no-such-model': {
    says: 'has no such model',
    action: 'Correct upstreamModel in the route: `weir doctor` lists the names that the engine has',
    reason: 'NoSuchModel',
    who: 'gateway',
  },
  'no-such-path': {
    says: 'has no such path',
    action: 'Correct the path in spec.endpoint: most engines have the API below /v1',
    reason: 'NoSuchPath',
    who: 'gateway',
  },
  redirects: {
    says: 'redirects to another address',
    action: 'Put the address to which it redirects in spec.endpoint',
    reason: 'Redirects',
    who: 'gateway',
  },
  'not-an-api': {
    says: 'answers with a page instead of an API',
    words: 'answers with a web page',
    action: 'Correct the address: a proxy, a login page or another program answers',
    reason: 'NotAnApi',
    who: 'gateway',
  },
  'refuses-parameter': {
    says: 'refuses a parameter that the gateway sends',
    words: 'refuses a parameter',
    action: 'Correct spec.engine, or the route’s capabilities',
    reason: 'ParameterRefused',
    who: 'gateway',
  },
  'no-tool-parser': {
    says: 'has no tool parser, or does not choose tools by itself',
    words: 'has no tool parser',
    action: 'Start the engine with a tool parser, or remove tools from the route’s capabilities',
    reason: 'NoToolParser',
    who: 'engine',
  },
  'no-chat-template': {
    says: 'has no chat template',
    action: 'Start the engine with a chat template, or serve a model that has one',
    reason: 'NoChatTemplate',
    who: 'engine',
  },
  'batch-too-small': {
    says: 'has a physical batch that is smaller than an input',
    words: 'has too small a physical batch',
    action: 'Start llama-server with --batch-size and --ubatch-size of at least the model’s contextLength',
    reason: 'BatchTooSmall',
    who: 'engine',
  },
  'too-many-inputs': {
    says: 'takes fewer inputs in a call than it gets',
    words: 'takes fewer inputs in a call',
    action: 'Set embedding.maxInputs of the Model, or raise the engine’s limit',
    reason: 'TooManyInputs',
    who: 'gateway',
  },
  misconfigured: {
    says: 'is not configured for what the gateway sends',
    words: 'is not configured for these requests',
    action: 'Check spec.engine, the path, and the options that the engine was started with',
    reason: 'Misconfigured',
    who: 'engine',
  },
  'refuses-request': {
    says: 'refuses requests as they are written',
    action: 'Check spec.engine, and `weir explain` of a request that failed',
    reason: 'RequestsRefused',
    who: 'gateway',
  },
  'context-length': {
    says: 'has a shorter context than the model declares',
    words: 'has a shorter context than declared',
    action: 'Correct contextLength, or start the engine with a longer context',
    reason: 'ContextTooShort',
    who: 'gateway',
  },
  'content-policy': {
    says: 'refuses prompts by its content policy',
    action: 'Nothing: the provider judges each prompt',
    reason: 'ContentPolicy',
    who: 'nobody',
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

/** Causes of an engine that could answer later. */
const busy = {
  loading: {
    says: 'is loading its model',
    action: 'Wait until the model is loaded; a health check keeps requests away until then',
    reason: 'Loading',
    who: 'nobody',
  },
  'rate-limited': {
    says: 'is at its rate limit',
    action: 'Raise the limit at the provider, or add a route',
    reason: 'RateLimited',
    who: 'account',
  },
  full: {
    says: 'is full',
    action: 'Add endpoints, or lower spec.capacity so that requests wait in the gateway',
    reason: 'Full',
    who: 'engine',
  },
  'out-of-memory': {
    says: 'ran out of memory',
    action: 'Give the engine more memory, or fewer and shorter requests at a time',
    reason: 'OutOfMemory',
    who: 'engine',
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

/** Causes of an answer that is of no use. */
const broken = {
  'server-error': {
    says: 'reports an internal error',
    action: 'Read the engine’s log',
    reason: 'ServerError',
    who: 'engine',
  },
  'breaks-off': {
    says: 'breaks off its answers',
    action: 'Read the engine’s log, and check the timeouts of proxies in front of it',
    reason: 'BreaksOff',
    who: 'engine',
  },
  silent: {
    says: 'falls silent',
    action: 'Read the engine’s log; if it only needs longer, raise the silence limits',
    reason: 'Silent',
    who: 'engine',
  },
  unreadable: {
    says: 'answers in a form that cannot be read',
    words: 'sends answers that cannot be read',
    action: 'Correct spec.engine; `weir engine check` shows what it answers',
    reason: 'Unreadable',
    who: 'gateway',
  },
  'wrong-structure': {
    says: 'does not follow the requested structure',
    words: 'breaks the structure asked for',
    action: 'Check that the engine supports structured output and tool choice',
    reason: 'WrongStructure',
    who: 'gateway',
  },
  'cannot-continue': {
    says: 'does not continue answers where they broke off',
    words: 'does not continue broken answers',
    action: 'Nothing: another endpoint got the request',
    reason: 'CannotContinue',
    who: 'nobody',
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

export const causes = { ...unreachable, ...withoutTls, ...refusing, ...busy, ...broken };

export type Cause = keyof typeof causes;

const namesOf = (...rows: readonly object[]): ReadonlySet<string> => new Set(rows.flatMap(Object.keys));
/** Causes in the TLS of a connection, and all by which there is none: any answer of the engine rules them out. */
export const ofTls = namesOf(withoutTls);
export const ofConnection = namesOf(unreachable, withoutTls);
/** Causes that only a repair ends. With all others, the same request may be answered later. */
export const endedByRepair = namesOf(withoutTls, refusing);
/** The cause of a name, for example in a file; undefined: it is of another version. */
export const causeNamed = (name: string | undefined): Cause | undefined =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- `in` does not narrow a string to the keys
  name !== undefined && Object.hasOwn(causes, name) ? (name as Cause) : undefined;

/** The engine's state in at most six words, to follow its name: `refuses its key`. */
export function causeWords(cause: Cause): string {
  const { words, says }: CauseRow = causes[cause];
  return words ?? says;
}

/** What an engine does, with the HTTP status that shows it: `refuses the credential (HTTP 401)`. */
export function causeText(cause: Cause, status: number | undefined): string {
  const { says } = causes[cause];
  return status === undefined ? says : `${says} (HTTP ${status})`;
}

/** The engine's own sentence (`Fault.said`) as the end of a text about it. */
export const saidText = (said: string | undefined): string => (said === undefined ? '' : `; it says “${said}”`);
