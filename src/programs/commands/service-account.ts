import { type Command, InvalidArgumentError } from 'commander';
import { type Scope, scopes } from '../../books/core/rights.ts';
import { type ServiceAccount, stateOfAccount } from '../../books/core/service-account.ts';
import { shownServiceAccount } from '../../books/core/shown.ts';
import type { Accounts } from '../../books/store/open-accounts.ts';
import { accountsCommand, type Answer, byOperator } from './accounts-command.ts';
import { momentOption } from './option-values.ts';
import { momentText, type TableWidth, textTable, wide } from './tables.ts';

interface CreateOptions {
  readonly json?: true;
  readonly scopes: readonly Scope[];
  readonly workspaces?: readonly string[];
  readonly allWorkspaces?: true;
  readonly expires?: number;
}

/** How long a token works by default: 90 days. */
const usualMs = 90 * 24 * 3_600_000;

/** Adds `service-account` to the command line: tokens of scripts for the admin API. */
export function serviceAccountCommand(program: Command): void {
  const group = program.command('service-account').description('make tokens of scripts for the admin API, revoke them');

  const create = group
    .command('create')
    .description('create a service account; Weir shows its token only once')
    .argument('<name>', 'for the audit trail: letters, digits, ".", "_" and "-", at most 64')
    .requiredOption('--scopes <scopes>', `scopes, separated by commas: ${scopes.join(', ')}`, scopesOption)
    .option('--workspaces <workspaces>', 'its workspaces: names or ids, separated by commas', workspacesOption)
    .option('--all-workspaces', 'in all workspaces, including future ones')
    .option('--expires <when>', 'valid until this UTC day or moment (default: 90 days from now)', momentOption)
    .hook('preAction', () => {
      const { workspaces, allWorkspaces } = create.opts<CreateOptions>();
      if ((workspaces === undefined) === (allWorkspaces === undefined)) {
        create.error('error: give either --workspaces or --all-workspaces');
      }
    });
  accountsCommand<CreateOptions>(create, async (accounts, { scopes: given, workspaces, expires }, [name = '']) => {
    const by = byOperator();
    const wanted = { name, scopes: given, workspaces, expiresAt: expires ?? by.now + usualMs };
    const { account, token } = await accounts.createServiceAccount(wanted, by);
    const { id, ...rest } = shownServiceAccount(account, by.now);
    return { json: { id, token, ...rest }, text: shownOnce(account, token) };
  });

  accountsCommand(
    group.command('list').description('list service accounts, without their tokens, which Weir does not store'),
    async (accounts) => answer(accounts, await accounts.listServiceAccounts(), 'list'),
  );

  accountsCommand(
    group
      .command('revoke')
      .description('end a service account permanently: calls with its token get 401')
      .argument('<name>', 'name or id'),
    async (accounts, _, [nameOrId = '']) =>
      answer(accounts, [await accounts.revokeServiceAccount(nameOrId, byOperator())], 'one'),
  );
}

function scopesOption(text: string): readonly Scope[] {
  return partsOf(text).map((part) => {
    const scope = scopes.find((known) => known === part);
    if (scope === undefined) throw new InvalidArgumentError(`"${part}" is none of ${scopes.join(', ')}.`);
    return scope;
  });
}

function workspacesOption(text: string): readonly string[] {
  const parts = partsOf(text);
  if (parts.length === 0) throw new InvalidArgumentError('It must be names or ids of workspaces, with commas.');
  return parts;
}

const partsOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

async function answer(accounts: Accounts, found: readonly ServiceAccount[], form: 'list' | 'one'): Promise<Answer> {
  const now = Date.now();
  const nameOf = await accounts.workspaceNames();
  const shown = found.map((account) => shownServiceAccount(account, now));
  return { json: form === 'list' ? shown : shown[0], text: (width) => tableOf(found, { nameOf, now, width }) };
}

function tableOf(
  accounts: readonly ServiceAccount[],
  { nameOf, now, width }: { readonly nameOf: (id: string) => string; readonly now: number; readonly width: TableWidth },
): string {
  return textTable(
    ['ID', 'NAME', 'STATUS', 'SCOPES', wide('WORKSPACES'), 'EXPIRES', wide('CREATED'), wide('LAST USED')],
    accounts.map((account) => [
      ...[account.id, account.name, stateOfAccount(account, now), account.scopes.join(',')],
      account.workspaces?.map(nameOf).join(',') ?? 'all',
      ...[momentText(account.expiresAt, width), new Date(account.createdAt).toISOString()],
      account.lastUsedAt === undefined ? 'never' : new Date(account.lastUsedAt).toISOString(),
    ]),
    width,
  );
}

function shownOnce({ name, scopes: given, expiresAt }: ServiceAccount, token: string): string {
  return `The service account token "${name}". Weir shows it only once, and keeps only its hash.

  ${token}

It may ${given.join(', ')}, until ${new Date(expiresAt).toISOString()}. Scripts send it to the admin API:

  curl -H "Authorization: Bearer $TOKEN" http://HOST:PORT/api/v1/…`;
}
