import { type Command, InvalidArgumentError } from 'commander';
import { type IdentityChange, type NewIdentity, payerOf } from '../../books/core/identity.ts';
import { shownIdentity } from '../../books/core/shown.ts';
import type { KeyStatus } from '../../core/account.ts';
import {
  clusterIssuer,
  type Identity,
  identityLimits,
  type IdentityRules,
  identityShares,
} from '../../core/identity.ts';
import { accountsCommand, byOperator } from './accounts-command.ts';
import { budgetOf, type BudgetOptions, budgetText, withBudget } from './budget-options.ts';
import { changesFrom, withFields, withoutDefaults } from './field-options.ts';
import { modelsOption, nameOption, optionOr } from './option-values.ts';
import { type TableWidth, textTable, wide } from './tables.ts';

interface RuleOptions extends BudgetOptions {
  readonly issuer?: string;
  readonly audience?: string;
  readonly match?: readonly string[];
  readonly workspace?: string;
  readonly workspaceClaim?: string;
  readonly each?: IdentityRules['each'];
  readonly tag?: Readonly<Record<string, string>>;
  readonly bound?: boolean;
}

interface CreateOptions extends RuleOptions, Omit<NewIdentity, keyof IdentityRules | 'name' | 'budget'> {
  readonly issuer: string;
  readonly audience: string;
  readonly match: readonly string[];
}

interface ChangeOptions extends RuleOptions {
  readonly tags?: boolean;
  readonly clearBudget?: true;
}

const nameOrId = ['<identity>', 'name or id of the identity'] as const;

const statuses = [
  ['suspend', 'suspended', 'refuse requests with an identity’s tokens until you resume it: they get 403'],
  ['resume', 'active', 'resume an identity'],
  ['revoke', 'revoked', 'end an identity permanently, with all of its accounts: requests with its tokens get 401'],
] as const satisfies readonly (readonly [string, KeyStatus, string])[];

/** Adds `identity` to the command line: callers without keys (docs/how-to/identities.md). */
export function identityCommand(program: Command): void {
  const group = program.command('identity').description('let callers in by tokens of an issuer, limit and revoke them');

  createCommand(group);

  accountsCommand(
    group.command('list').description('list identities by name, in the order of matching'),
    async (accounts) => {
      const found = await accounts.listIdentities();
      return { json: found.map(shownIdentity), text: tableOf(found) };
    },
  );

  accountsCommand(
    group
      .command('show')
      .description('show one identity with its expressions')
      .argument(...nameOrId),
    async (accounts, _, [identity = '']) => {
      const found = await accounts.findIdentity(identity);
      return { json: shownIdentity(found), text: (width) => sheetOf(found, width) };
    },
  );

  changeCommand(group);

  for (const [name, status, description] of statuses) {
    accountsCommand(
      group
        .command(name)
        .description(description)
        .argument(...nameOrId),
      async (accounts, _, [identity = '']) => answer(await accounts.changeIdentity(identity, { status }, byOperator())),
    );
  }
}

function createCommand(group: Command): void {
  const create = withRules(group.command('create').description('create an identity'))
    .argument('<name>', 'for people and reports: letters, digits, ".", "_" and "-", at most 64')
    .option('--bound', 'the API server must confirm that the ServiceAccount and the pod of a token still exist')
    .option('--models <patterns>', "models that its tokens may call, such as 'org/*,org/model'", modelsOption)
    .hook('preAction', () => {
      const { issuer, audience, match, workspace, workspaceClaim } = create.opts<RuleOptions>();
      if (issuer === undefined || audience === undefined || match === undefined) {
        create.error('error: give --issuer, --audience and --match');
      }
      if ((workspace === undefined) === (workspaceClaim === undefined)) {
        create.error('error: give either --workspace or --workspace-claim');
      }
    });
  withFields(create, identityLimits);
  accountsCommand<CreateOptions>(create, async (accounts, options, [name = '']) => {
    const { issuer, audience, match, each = 'identity', tag = {}, bound = false } = options;
    const { rate, burst, models, tokensPerMinute, notEnforced } = options;
    const workspace = payerOf(options.workspace, options.workspaceClaim) ?? { name: '' };
    const rules: IdentityRules = { issuer, audience, match, workspace, each, tags: tag, isBound: bound };
    const budget = budgetOf(create, options);
    const wanted = { name, ...rules, rate, burst, models, tokensPerMinute, notEnforced, budget };
    return answer(await accounts.createIdentity(wanted, byOperator()));
  });
}

function changeCommand(group: Command): void {
  const change = withRules(group.command('change').description('change an identity; omitted options keep their values'))
    .argument(...nameOrId)
    .option('--no-tags', 'remove all tags')
    .option('--bound', 'the API server must confirm that the ServiceAccount and the pod of a token still exist')
    .option('--no-bound', 'the API server need not confirm it')
    .option('--clear-budget', 'remove the budget')
    .option('--models <patterns>', 'models that its tokens may call, or "all"', optionOr('all', modelsOption))
    .hook('preAction', () => {
      const { workspace, workspaceClaim, clearBudget, budget } = change.opts<ChangeOptions>();
      if (workspace !== undefined && workspaceClaim !== undefined) {
        change.error('error: give either --workspace or --workspace-claim');
      }
      if (clearBudget === true && budget !== undefined) change.error('error: give either --budget or --clear-budget');
      if (Object.keys(changeOf(change)).length === 0) change.error('error: give something to change, see --help');
    });
  withoutDefaults(change, identityLimits);
  accountsCommand<ChangeOptions>(change, async (accounts, _, [identity = '']) =>
    answer(await accounts.changeIdentity(identity, changeOf(change), byOperator())),
  );
}

/** What the options name, and nothing else. A field that is present and undefined is removed. */
function changeOf(command: Command): IdentityChange {
  const options = command.opts<ChangeOptions>();
  const { issuer, audience, match, each, tag, bound, clearBudget } = options;
  const tags = options.tags === false ? {} : tag;
  const budget = budgetOf(command, options);
  const workspace = payerOf(options.workspace, options.workspaceClaim);
  const given = { issuer, audience, match, each, tags, isBound: bound, workspace, budget };
  return {
    ...changesFrom(identityLimits, options),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    ...(clearBudget === true && { budget: undefined }),
  };
}

function withRules(command: Command): Command {
  return withBudget(command, 'with its tokens')
    .option(
      '--issuer <issuer>',
      `"${clusterIssuer}" for the API server, or the https:// address of an OpenID Connect issuer`,
    )
    .option('--audience <audience>', 'audience that tokens must have')
    .option('--match <cel>', 'expression over claims that must be true; repeat it for several', collected)
    .option('--workspace <workspace>', 'name or id of the workspace that pays')
    .option('--workspace-claim <cel>', 'expression over claims that returns its name')
    .option(
      '--each <share>',
      'who has the limits: identity (default; all tokens share them) or subject',
      nameOption(identityShares),
    )
    .option('--tag <name=cel>', 'tag of the requests, by an expression over claims; repeat it for several', tagOption);
}

const collected = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

function tagOption(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [name = '', rule] = text.split(/=(.*)/s, 2);
  if (rule === undefined || rule === '') throw new InvalidArgumentError('It must be NAME=CEL, such as app=claims.sub.');
  return { ...before, [name]: rule };
}

function answer(identity: Identity) {
  return { json: shownIdentity(identity), text: tableOf([identity]) };
}

const payerText = ({ workspace }: Identity): string =>
  'name' in workspace ? workspace.name : `by ${workspace.prefix ?? ''}${workspace.claim}`;

const tableOf =
  (identities: readonly Identity[]) =>
  (width: TableWidth): string =>
    textTable(
      [
        ...[wide('ID'), 'NAME', 'STATUS', 'WORKSPACE', 'ISSUER', 'AUDIENCE', 'EACH', 'BUDGET USD'],
        ...[wide('#RATE'), wide('#BURST'), wide('#TOKENS/MIN'), wide('MODELS')],
      ],
      identities.map((one) => [
        ...[one.id, one.name, one.status, payerText(one), one.issuer, one.audience, one.each],
        one.budget ? budgetText(one.budget) : '-',
        ...[`${one.rate}`, `${one.burst}`, `${one.tokensPerMinute ?? '-'}`, one.models?.join(',') ?? 'all'],
      ]),
      width,
    );

function sheetOf(identity: Identity, width: TableWidth): string {
  const { id, name, status, issuer, audience, match, each, tags, isBound, budget, rate, burst, models } = identity;
  return textTable(
    ['FIELD', 'VALUE'],
    [
      ...[
        ['id', id],
        ['name', name],
        ['status', status],
        ['issuer', issuer],
        ['audience', audience],
      ],
      ...match.map((text) => ['match', text]),
      ['workspace', payerText(identity)],
      ['each', each],
      ...Object.entries(tags).map(([tag, text]) => ['tag', `${tag}=${text}`]),
      ['bound', isBound ? 'yes' : 'no'],
      ['budget USD', budget ? budgetText(budget) : '-'],
      ['rate', `${rate}`],
      ['burst', `${burst}`],
      ['tokens a minute', `${identity.tokensPerMinute ?? '-'}`],
      ['not enforced', identity.notEnforced?.join(',') ?? '-'],
      ['models', models?.join(',') ?? 'all'],
    ],
    width,
  );
}
