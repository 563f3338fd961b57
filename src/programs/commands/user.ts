import type { Command } from 'commander';
import { invitationMs, type LocalUser, type LocalUserRole, localUserRoles } from '../../books/core/local-user.ts';
import { type WorkspaceRole, workspaceRoles } from '../../books/core/rights.ts';
import { shownUser } from '../../books/core/shown.ts';
import { accountsCommand, byOperator } from './accounts-command.ts';
import { momentOption } from './option-values.ts';
import { momentText, type TableWidth, textTable, wide } from './tables.ts';

interface InviteOptions {
  readonly json?: true;
  readonly role: LocalUserRole;
  readonly workspace?: string;
  readonly workspaceRole: WorkspaceRole;
  readonly expires?: number;
}

/** Adds `user` to the command line: people who sign in to the portal with a password, where no identity provider is set. */
export function userCommand(program: Command): void {
  const group = program.command('user').description('invite people who sign in to the portal with a password');

  const invite = group
    .command('invite')
    .description('create an invitation link, which works once; for a known address, a link to a new password')
    .argument('<address>', 'e-mail address, with which the user signs in');
  invite
    .addOption(
      invite
        .createOption('--role <role>', 'admin: everything; member: what its roles in workspaces allow')
        .choices(localUserRoles)
        .default('member'),
    )
    .option('--workspace <workspace>', 'also make the user a member of this workspace, by name or id')
    .addOption(
      invite.createOption('--workspace-role <role>', 'the role there').choices(workspaceRoles).default('member'),
    )
    .option(
      '--expires <when>',
      'the link ends on this UTC day or moment (default: 7 days from now, at most 30)',
      momentOption,
    );
  accountsCommand<InviteOptions>(invite, async (accounts, options, [address = '']) => {
    const { role, workspace, workspaceRole, expires } = options;
    const by = byOperator();
    const membership = workspace === undefined ? undefined : { workspace, role: workspaceRole };
    const wanted = { address, role, membership, until: expires ?? by.now + invitationMs };
    const { user, token } = await accounts.inviteUser(wanted, by);
    return { json: { ...shownUser(user), token }, text: shownOnce(user, token) };
  });

  accountsCommand(group.command('list').description('list the local users'), async (accounts) => {
    const users = await accounts.listUsers();
    return { json: users.map(shownUser), text: (width) => tableOf(users, width) };
  });

  accountsCommand(
    group
      .command('remove')
      .description('remove a local user: its sessions end, its memberships stay')
      .argument('<user>', 'address or id'),
    async (accounts, _, [user = '']) => {
      const removed = await accounts.removeUser(user, byOperator());
      return { json: shownUser(removed), text: `${removed.address} cannot sign in any more.` };
    },
  );
}

function tableOf(users: readonly LocalUser[], width: TableWidth): string {
  return textTable(
    ['ADDRESS', 'ROLE', 'STATUS', 'LAST SIGN-IN', wide('ID'), wide('CREATED')],
    users.map((user) => [
      ...[user.address, user.role, statusOf(user, width)],
      user.lastSignInAt === undefined ? 'never' : momentText(user.lastSignInAt, width),
      ...[user.id, new Date(user.createdAt).toISOString()],
    ]),
    width,
  );
}

function statusOf({ hasPassword, invitedUntil }: LocalUser, width: TableWidth): string {
  if (invitedUntil === undefined) return 'active';
  return `${hasPassword ? 'active, ' : ''}invited until ${momentText(invitedUntil, width)}`;
}

function shownOnce({ address, invitedUntil = 0 }: LocalUser, token: string): string {
  const portal = (process.env['WEIR_ADMIN_URL'] ?? 'http://HOST:PORT').replace(/\/$/, '');
  return `Give this link to ${address}. It is shown this once, and works once, until ${new Date(invitedUntil).toISOString()}:

  ${portal}/#invitation=${token}`;
}
