import type { WorkspaceChangeObject, WorkspaceObject } from '../../../src/portal/api/workspaces.ts';
import { changedFields, linesOf, pairsText, TextArea, TextField } from '../parts/fields.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { countOf, countText, TokensField } from './limit-fields.tsx';
import { changedNotEnforced, limitsOfWorkspace, NotEnforced } from './not-enforced.tsx';

interface WorkspaceLimitsProps {
  readonly of: WorkspaceObject;
  readonly onClose: () => void;
  readonly onSubmit: (given: WorkspaceChangeObject) => Promise<void>;
}

/** What stands before and after the last separator of each line. The server refuses a line without one. */
function recordOf<Value>(
  text: string,
  separator: RegExp,
  valueOf: (part: string) => Value,
): Record<string, Value> | null {
  const parts = linesOf(text).map((line) => separator.exec(line) ?? [line, line, '']);
  if (parts.length === 0) return null;
  return Object.fromEntries(parts.map(([, name = '', value = '']) => [name, valueOf(value)]));
}

/** The values of fields in the API. */
const values = {
  max_in_flight: Number,
  tokens_per_minute: countOf,
  tag_tokens_per_minute: (text: string) => recordOf(text, /^(.*\S)\s*:\s*(\S*)$/, Number),
  labels: (text: string) => recordOf(text, /^([^=]*\S)\s*=\s*(.*)$/, String),
};

/** A change of a workspace's limits and labels. */
export function WorkspaceLimits({ of, onClose, onSubmit }: WorkspaceLimitsProps) {
  const first = {
    max_in_flight: String(of.max_in_flight),
    tokens_per_minute: countText(of.tokens_per_minute),
    tag_tokens_per_minute: pairsText(of.tag_tokens_per_minute, ': '),
    labels: pairsText(of.labels),
    not_enforced: of.not_enforced,
  };
  return (
    <FormDialog
      title={`Limits of ${of.name}`}
      action="Save"
      first={first}
      read={(form): WorkspaceChangeObject => ({
        ...changedFields(form, first, values),
        ...changedNotEnforced(limitsOfWorkspace, first.not_enforced, form),
      })}
      onClose={onClose}
      onSubmit={onSubmit}
    >
      {(fieldOf) => (
        <>
          <div className="form-grid">
            <TextField label="Requests at once" inputMode="numeric" autoFocus {...fieldOf('max_in_flight')} />
            <TokensField {...fieldOf('tokens_per_minute')} />
          </div>
          <TextArea
            label="Tokens a minute of tags"
            rows={2}
            hint="One in each line, such as team=search: 60000. Empty for no limits."
            {...fieldOf('tag_tokens_per_minute')}
          />
          <NotEnforced limits={limitsOfWorkspace} {...fieldOf('not_enforced')} />
          <TextArea
            label="Labels"
            rows={2}
            hint="NAME=VALUE, one in each line, such as cost-centre=42. Statements show them."
            {...fieldOf('labels')}
          />
        </>
      )}
    </FormDialog>
  );
}
