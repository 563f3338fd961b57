import { ofCommandLine, programRefusals, type OperatorRefusalRow, type RefusalStatus } from './program-refusals.ts';

const workspaces = 'docs/how-to/accounts.md#accounts';
const keys = 'docs/how-to/accounts.md#models-and-expiry-of-a-key';
const credits = 'docs/how-to/accounts.md#credits-and-corrections';
const reports = 'docs/how-to/usage.md#rollups-and-single-requests';
const statements = 'docs/how-to/statements.md#months';
const byTag = 'docs/how-to/tags.md#usage-by-tag';
const postgres = 'docs/operate/backup.md#postgresql';
const roles = 'docs/how-to/portal.md#roles';
const api = 'docs/reference/admin-api.md';
const signIn = 'docs/how-to/portal.md#signing-in';
const tokens = 'docs/reference/admin-api.md#service-accounts';
const localUsers = 'docs/how-to/portal.md#local-users';
const identities = 'docs/how-to/identities.md#fields';
const outage = 'docs/concepts/durability.md#database-outages';
const copies = 'docs/operate/backup.md#sqlite';
const logs = 'docs/how-to/install.md#the-log-level';
const engines = 'docs/how-to/vllm.md#check-it';
const vectors = 'docs/concepts/same-vectors.md#accept-new-vectors';
const strangers = 'docs/reference/limits.md#the-portal';

const workspaceList = '`weir workspace list` shows them all.';
const newKey = '`weir key create` creates another one.';

/** Refusals about accounts and the ledger, of commands and of the admin API. */
const ofBooks = {
  workspace_not_found: [404, workspaces, 'There is no workspace {workspace}.', undefined, workspaceList],
  workspace_exists: [409, workspaces, 'There is already a workspace named "{name}".', 'name'],
  workspace_name_is_id: [409, workspaces, '"{name}" has the form of an id.', 'name'],
  name_malformed: [400, workspaces, '"{name}" cannot be the name of {what}: {form}.', 'name'],
  text_malformed: [400, workspaces, '{what} must be one line of at most {max} characters.'],
  list_full: [409, workspaces, '{list} has at most {max} {entries}. {remedy}'],
  declared_by_object: [
    409,
    'docs/how-to/accounts-in-git.md#ownership',
    '{kind} "{name}" in namespace "{namespace}" declares this, so it can be changed only there. With its annotation weir.dev/managed: "false" it can be changed here.',
    undefined,
    'In an emergency `weir key suspend ID --override` stops a key, and `revoke` ends it.',
  ],
  thresholds_malformed: [400, 'docs/how-to/alerts.md', 'Thresholds are {form}.', 'thresholds'],
  expiry_passed: [400, keys, '{what} cannot expire at {moment}: that moment has passed.', 'expires_at'],
  key_not_found: [404, keys, 'There is no key with the id "{id}".', undefined, '`weir key list` shows them all.'],
  key_revoked: [409, keys, 'The key "{id}" was revoked, and that is final.', 'status', newKey],
  key_not_replaceable: [409, keys, 'The key "{id}" {why}, so it cannot be replaced.', undefined, newKey],
  key_of_identity: [
    409,
    'docs/how-to/identities.md#limits',
    'The key "{id}" is an account of the identity {identity}, which sets its limits. Change them there.',
    undefined,
    'With the command: `weir identity change`.',
  ],
  credit_zero: [400, credits, 'A credit must be more than 0 USD, or less than 0 for a correction.', 'amount'],
  correction_without_note: [
    400,
    credits,
    'A correction takes money from a workspace, and needs a note with the reason.',
    'note',
    'With the command: --note TEXT.',
  ],
  correction_too_large: [
    400,
    credits,
    'A correction of {amount} is more than the books allow: the balance of "{name}" is {balance}{reserved}.',
    'amount',
  ],
  balance_full: [400, credits, 'The balance of "{name}" would be {sum}; a workspace holds at most {max}.', 'amount'],
  idempotency_key_reused: [409, credits, 'Another credit was added with this idempotency key.', 'idempotency-key'],
  address_malformed: [400, roles, 'expected an e-mail address such as ada@example.com', 'address'],
  member_exists: [409, roles, '{address} is a member of "{workspace}" already. Change the role instead.', 'address'],
  member_not_found: [404, roles, 'There is no member with the id "{id}" in "{workspace}".', 'member'],
  member_of_group: [
    409,
    roles,
    '{who} is in "{workspace}" by a group of the identity provider. Change the groups there.',
    'member',
  ],
  last_owner: [409, roles, '{who} is the last owner of "{workspace}". Make another member an owner first.', 'member'],
  user_not_found: [404, localUsers, 'There is no local user "{user}".', undefined, '`weir user list` shows them all.'],
  invitation_too_long: [400, localUsers, 'An invitation ends within 30 days, and not in the past.', 'expires_at'],
  invitation_ended: [
    404,
    localUsers,
    'This invitation link was used or replaced, or it has expired. Ask an admin for another one.',
  ],
  service_account_not_found: [
    404,
    tokens,
    'There is no service account "{account}".',
    undefined,
    '`weir service-account list` shows them all.',
  ],
  service_account_exists: [
    409,
    tokens,
    'There is already a service account named "{name}". Revoke it first, or take another name.',
    'name',
  ],
  service_account_without_scope: [400, tokens, 'A service account needs a scope.', 'scopes'],
  service_account_without_workspace: [400, tokens, 'A service account needs a workspace, or all.', 'workspaces'],
  identity_not_found: [
    404,
    identities,
    'There is no identity "{identity}".',
    undefined,
    '`weir identity list` shows them all.',
  ],
  identity_exists: [
    409,
    identities,
    'There is already an identity named "{name}". Revoke it first, or take another name.',
    'name',
  ],
  identity_malformed: [400, identities, '{field}: {reason}'],
  vectors_not_found: [
    404,
    vectors,
    'The model "{model}" has no reference vectors: no route of it has answered a probe yet.',
    'model',
    '`weir model vectors` lists the models that have some.',
  ],
  route_malformed: [
    400,
    vectors,
    '"{route}" is not a route of {model}: expected its id, {model}@ and the Backend name.',
    'route',
  ],
  tag_malformed: [400, 'docs/how-to/tags.md#tag-budgets', '"{tag}" is not a tag: expected {form}.', 'tag'],
} as const satisfies Readonly<Record<string, OperatorRefusalRow>>;

const tagHint = 'Give both `tag` among the dimensions and the name of a tag.';

/** Refusals of reports, lists and files. */
const ofReports = {
  report_not_whole_hours: [
    400,
    reports,
    'A report counts whole hours: expected the beginning of a UTC hour.',
    undefined,
    'Change {option}, or list single requests with --requests.',
  ],
  report_top_malformed: [
    400,
    reports,
    'A report of the top ranks models, keys, workspaces or values of a tag: expected one of them, and hour, day or week.',
    'top',
  ],
  tag_report_not_whole_days: [400, byTag, 'Tag usage is daily: expected whole UTC days, and no hours.', 'by'],
  tag_name_missing: [400, byTag, 'A report by tag needs the tag’s name.', 'tag', tagHint],
  tag_name_unused: [400, byTag, 'A tag name works only with the dimension `tag`.', 'tag', tagHint],
  statement_of_future: [400, statements, 'The month {month} has not begun: now is {now} in UTC.', 'month'],
  statement_before_workspace: [
    400,
    statements,
    'The workspace has no statement for {month}: its first is {first}.',
    'month',
  ],
  cursor_malformed: [400, api, 'cursor: expected next_cursor of the previous page, with the same filters.', 'cursor'],
  requests_dropped: [
    400,
    'docs/how-to/usage.md#export',
    'Weir deleted requests before {since} during the export (WEIR_LEDGER_RETENTION_DAYS). Export the remaining ones with --since {since}.',
  ],
  backup_of_postgres: [
    400,
    postgres,
    'Back up PostgreSQL with its own pg_dump, which copies a consistent snapshot: pg_dump --format=custom --file=FILE "$WEIR_DATABASE_URL" (docs/operate/backup.md).',
  ],
  shrink_of_postgres: [400, postgres, 'PostgreSQL frees the space of dropped months automatically.'],
} as const satisfies Readonly<Record<string, OperatorRefusalRow>>;

/** Refusals of commands alone. */
const ofCommands = ofCommandLine({
  focus_not_whole_days: [
    'docs/how-to/statements.md#focus',
    'FOCUS rows count whole days: expected UTC days for --since and --until.',
  ],
  no_subscription: [
    'docs/how-to/events.md#enable-events',
    'No service sends events: set WEIR_EVENTS_URL for the services, then repeat the command.',
  ],
  times_reversed: ['docs/how-to/usage.md#export', '--since must be before --until.'],
  file_exists: [copies, 'The file {file} exists, and {what} never replaces a file{option}.'],
  file_not_written: ['docs/how-to/usage.md#export', '{file} (--out) could not be written: {reason}'],
  credit_unknown: [
    outage,
    'The database did not answer ({reason}), so the credit may or may not have been added. Check the balance with `weir workspace list` before you repeat the command.',
  ],
  request_unknown: [
    reports,
    'There is no request {id}. {services}. The ledger does not contain it: of refused requests it keeps the first {samples} for each minute, key, model and code, and Weir searches an x-request-id only in the newest {newest}.',
  ],
  no_program_runs: [logs, 'No service or portal runs with the data folder {folder}.'],
  no_program_answers: [logs, 'No answer from {programs}.'],
  engine_malformed: [engines, '{text} is not an engine address. Expected http://HOST:PORT or https://HOST.'],
  engine_model_needed: [engines, '{address} lists {count} models. Name one with --model: {models}.'],
  engine_model_unknown: [engines, '{address} lists no model {model}. It lists {models}.'],
});

/** Refusals of the admin API and of the portal's pages alone. */
const ofPortal = {
  not_signed_in: [401, signIn, 'Sign in, or send the admin token: Authorization: Bearer TOKEN.'],
  token_unknown: [
    401,
    signIn,
    'This is not the admin token, and not a service account’s token. To sign in with an API key, use POST /api/v1/session.',
  ],
  sign_in_unknown: [401, signIn, 'This is not the admin token, and not a valid API key.'],
  password_wrong: [401, localUsers, 'The address or the password is wrong.'],
  user_without_workspace: [
    403,
    localUsers,
    'You are a member of no workspace. Ask an owner of one, or an admin, to invite your address.',
  ],
  password_malformed: [400, localUsers, 'expected a password of {min} to {max} characters', 'password'],
  passwords_busy: [429, localUsers, 'Too many people are signing in. Try again in a moment.'],
  local_users_off: [404, localUsers, 'People sign in with the identity provider (WEIR_OIDC_ISSUER).'],
  key_ended: [401, signIn, 'This key is no longer active, or it has expired.'],
  service_account_ended: [401, tokens, 'The service account token "{name}" {why}.'],
  token_missing: [
    401,
    signIn,
    'This needs a token with the right {right}, of a service account or the admin token: `Authorization: Bearer TOKEN`.',
  ],
  internal_token_missing: [401, api, 'Expected the token of this database.'],
  sign_ins_blocked: [429, strangers, 'Too many sign-ins have failed from this address.'],
  oidc_off: [404, signIn, 'Sign-in with OpenID Connect is not set up (WEIR_OIDC_ISSUER).'],
  csrf_token_missing: [403, api, 'The header {header} must have the csrf_token of GET /api/v1/session.'],
  right_missing: [403, roles, '{why}'],
  key_of_another: [403, roles, 'Someone else created this key. {why}'],
  usage_of_others: [403, roles, 'An API key sees only its own usage.', 'workspace'],
  workspace_needed: [400, api, 'workspace: expected one of your workspaces.', 'workspace'],
  not_found: [404, api, '{reason}'],
  path_not_found: [404, api, 'There is no such path. /api/openapi.json lists those of the API.'],
  request_not_found: [404, reports, 'There is no request with the id "{id}", or Weir no longer keeps it.'],
  model_not_found: [404, api, 'There is no model {model}.'],
  field_malformed: [400, api, '{field}: {expected}'],
  request_malformed: [400, api, '{reason}'],
  body_too_complex: [400, api, 'The body contains more than {max} values, or nests them too deeply.'],
  body_too_large: [413, api, '{reason}'],
  content_type_unsupported: [415, api, '{reason}'],
  session_busy: [429, strangers, 'Too many of your {what} are in progress.'],
  address_busy: [429, strangers, 'Too many in-flight requests of this address.'],
  pages_busy: [503, strangers, 'Too many pages are open. Close some, or try again.'],
  playground_off: [503, api, 'The playground is off, because WEIR_PUBLIC_URL is not set to the gateway’s address.'],
  gateway_down: [502, api, 'The gateway does not answer: {reason}.'],
  database_down: [503, outage, 'The database does not answer. Try again in a moment.'],
  internal: [500, api, 'The portal failed to do this. Its log contains the reason.'],
} as const satisfies Readonly<Record<string, OperatorRefusalRow>>;

/**
 * Every way in which a command, a start or a request of the admin API is refused, one row each. `npm run generate` writes the table
 * of docs/reference/errors.md from here.
 */
export const operatorRefusals = { ...ofBooks, ...ofReports, ...ofCommands, ...programRefusals, ...ofPortal };

export type RefusalCode = keyof typeof operatorRefusals;

type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;
type PartNames<Row extends OperatorRefusalRow> =
  | NamesIn<Row[2]>
  | (Row extends { readonly 4: infer Hint } ? NamesIn<Hint> : never);

interface RefusalDetails {
  /** Default: the field of the row. */
  readonly field?: string | undefined;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** An operator's command that cannot be done as asked, or a refused request of the admin API. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly parts: Readonly<Record<string, string | number>>;
  /** The sentence without the part that only the command line can use. */
  readonly sentence: string;
  /** The field at fault, by its name in the admin API. Undefined if no field is at fault. */
  readonly field: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  /** `refusal` makes one, and checks its parts. */
  constructor(code: RefusalCode, parts: Readonly<Record<string, string | number>> = {}, details: RefusalDetails = {}) {
    const [, , text, field, hint]: OperatorRefusalRow = operatorRefusals[code];
    const sentence = filled(text, parts);
    super(hint === undefined ? sentence : `${sentence} ${filled(hint, parts)}`, { cause: details.cause });
    this.name = 'Refusal';
    this.code = code;
    this.parts = parts;
    this.sentence = sentence;
    this.field = details.field ?? field;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }

  get status(): RefusalStatus {
    return operatorRefusals[this.code][0] ?? 400;
  }
}

/** The arguments after the code of a refusal: the parts that its row names, if any, and details. */
type GivenTo<Name extends string> = [Name] extends [never]
  ? [parts?: Readonly<Record<string, never>>, details?: RefusalDetails]
  : [parts: Readonly<Record<Name, string | number>>, details?: RefusalDetails];

export function refusal<Code extends RefusalCode>(
  code: Code,
  ...given: GivenTo<PartNames<(typeof operatorRefusals)[Code]> & string>
): Refusal {
  return new Refusal(code, given[0], given[1]);
}

/** The code of an error that an operator sees. Undefined: it is none of the table. */
export function refusalCodeOf(error: unknown): RefusalCode | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && isRefusalCode(code) ? code : undefined;
}

const isRefusalCode = (code: string): code is RefusalCode => Object.hasOwn(operatorRefusals, code);

const filled = (text: string, parts: Readonly<Record<string, string | number>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => String(parts[name]));
