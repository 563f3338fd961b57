// Entries of the audit trail as sentences.
import type { AuditEntryObject } from '../../../src/portal/api/audit.ts';
import { changeTexts } from './change.ts';
import { formatExactMoney, formatShare } from './format.ts';

type Action = AuditEntryObject['action'];
type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const note = ({ note: why }: Fields): string => (text(why) === '' ? '' : ` (${text(why)})`);
const credit = (after: Fields): string =>
  text(after['credit']).startsWith('-')
    ? `was corrected by ${formatExactMoney(text(after['credit']))}${note(after)}`
    : `got a credit of ${formatExactMoney(text(after['credit']))}${note(after)}`;
const reached = ({ percent, used, limit }: Fields, of: string): string =>
  `reached ${formatShare(Number(percent) / 100)} of ${of} (${formatExactMoney(text(used))} of ${formatExactMoney(text(limit))})`;

/**
 * A sentence for each action; the compiler finds one that is missing. `*` is the name of the object. After a colon, the
 * fields follow that changed.
 */
const sentences: Readonly<Record<Action, string | ((after: Fields) => string)>> = {
  'workspace.create': 'Workspace * was created:',
  'workspace.credit': (after) => `Workspace * ${credit(after)}`,
  'workspace.suspend': 'Workspace * was suspended',
  'workspace.resume': 'Workspace * was resumed',
  'workspace.limits': 'Workspace * was changed:',
  'workspace.labels': 'Workspace * was changed:',
  'workspace.erase-name': 'The name of workspace * was erased',
  'workspace.tag-budget': ({ tag }) => `The budget of tag ${text(tag)} in workspace * was changed:`,
  'workspace.tag-threshold-reached': (after) => `Tag ${text(after['tag'])} of * ${reached(after, 'its budget')}`,
  'workspace.thresholds': 'Alerts of workspace * were changed:',
  'workspace.threshold-reached': (after) => `Workspace * ${reached(after, 'its balance')}`,
  'key.create': 'Key * was created:',
  'key.update': 'Key * was changed:',
  'key.budget': 'Key * was changed:',
  'key.limits': 'Key * was changed:',
  'key.thresholds': 'Alerts of key * were changed:',
  'key.threshold-reached': (after) => `Key * ${reached(after, 'its budget')}`,
  'key.suspend': 'Key * was suspended',
  'key.resume': 'Key * was resumed',
  'key.revoke': 'Key * was revoked',
  'key.rotate': 'Key * was rotated:',
  'identity.create': 'Identity * was created:',
  'identity.update': 'Identity * was changed:',
  'identity.suspend': 'Identity * was suspended',
  'identity.resume': 'Identity * was resumed',
  'identity.revoke': 'Identity * was revoked',
  'member.invite': ({ role }) => `Member * was invited as ${text(role)}`,
  'member.role': 'Member * was changed:',
  'member.remove': 'Member * was removed',
  'user.invite': ({ role }) => `User * was invited as ${text(role)}`,
  'user.password': 'User * set a password',
  'user.remove': 'User * was removed',
  'service-account.create': 'Service account * was created:',
  'service-account.revoke': 'Service account * was revoked',
  'ledger.accept-loss': 'A loss of the ledger was accepted: *',
  'model.accept-vectors': ({ route }) => `The vectors of ${text(route)} are the reference of model *`,
  'model.price': 'Prices of model * were changed:',
};

export const auditActions: readonly string[] = Object.keys(sentences);

interface AuditSentence {
  /** The words before and after the name of the object. */
  readonly before: string;
  readonly name: string;
  readonly after: string;
}

/** For example `Key`, `notebooks`, `reached 95% of its budget ($163.47 of $172.00).` */
export function auditSentence(entry: AuditEntryObject): AuditSentence {
  const { action, object, object_name: keyName, workspace, before: was, after: is } = entry;
  const sentence = sentences[action];
  const [before = '', rest = ''] = (typeof sentence === 'string' ? sentence : sentence(is)).split('*');
  const named = [keyName, is['name'], is['address'], action.startsWith('workspace.') ? workspace : null];
  const name = named.map(text).find((one) => one !== '') ?? object;
  // The sentence has the name of a new object, which is always active.
  const { name: _name, status: _status, ...fields } = is;
  const changed = rest.endsWith(':') ? changeTexts({ before: was, after: was === null ? fields : is }) : [];
  const changes = changed.join('; ');
  const after = rest.endsWith(':') ? rest.slice(0, changes === '' ? -1 : undefined) : rest;
  return { before, name, after: `${after}${changes === '' ? '' : ` ${changes}`}.` };
}
