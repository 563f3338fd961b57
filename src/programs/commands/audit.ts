import { type Command, Option } from 'commander';
import { type AuditAction, auditActions, type AuditEntry } from '../../books/core/administration.ts';
import { shownAuditEntry } from '../../books/core/shown.ts';
import { accountsCommand } from './accounts-command.ts';
import { countOption, momentOption } from './option-values.ts';
import { textTable } from './tables.ts';

interface AuditOptions {
  readonly workspace?: string;
  readonly actor?: string;
  readonly action?: AuditAction;
  readonly object?: string;
  readonly since?: number;
  readonly until?: number;
  readonly limit: number;
}

/** Adds `audit` to the command line: the trail of all changes of accounts. */
export function auditCommand(program: Command): void {
  accountsCommand<AuditOptions>(
    program
      .command('audit')
      .description('list changes of accounts: author, time and values, newest first')
      .option('--workspace <workspace>', 'only changes of this workspace and of its keys, by name or id')
      .option('--actor <name>', 'only changes by the person, token or object of this name')
      .addOption(new Option('--action <action>', 'only changes of this kind').choices(auditActions))
      .option('--object <id>', 'only changes of the workspace or key with this id')
      .option('--since <when>', 'only changes at or after this UTC day or moment', momentOption)
      .option('--until <when>', 'only changes before this UTC day or moment', momentOption)
      .option('--limit <n>', 'at most this many changes', countOption(1), 100),
    async (accounts, { workspace, actor: actorName, action, object: objectId, since, until, limit }) => {
      // Throws for a workspace that does not exist, because an empty list would hide a mistyped name.
      const workspaceId = workspace === undefined ? undefined : (await accounts.findWorkspace(workspace)).id;
      const entries = await accounts.listAudit({ workspaceId, actorName, action, objectId, since, until }, limit);
      return { json: entries.map(shownAuditEntry), text: tableOf(entries) };
    },
  );
}

const actors = {
  'command-line': 'user',
  'admin-token': 'token',
  'portal-user': 'portal',
  controller: 'object',
  service: 'service',
  'service-account': 'script',
} as const;

function tableOf(entries: readonly AuditEntry[]): string {
  return textTable(
    ['WHEN', 'WHO', 'WHAT', 'OBJECT', 'WORKSPACE', 'CHANGE'],
    entries.map((entry) => [
      new Date(entry.at).toISOString(),
      `${actors[entry.actor.kind]} ${entry.actor.name}`,
      entry.action,
      entry.objectId,
      entry.workspaceName ?? '-',
      changeOf(entry),
    ]),
  );
}

/** The tag whose budget changed, and the fields that differ, with their old and new values. */
function changeOf({ action, before, after }: AuditEntry): string {
  const changes = Object.entries(after).flatMap(([name, value]) => {
    const [was, is] = [shown(before?.[name]), shown(value)];
    // The object is the workspace, which has a budget for each of many tags.
    if (action === 'workspace.tag-budget' && name === 'tag') return [`tag ${is}`];
    if (was === is) return [];
    return [was === '-' ? `${name} ${is}` : `${name} ${was} → ${is}`];
  });
  return changes.join(', ');
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
