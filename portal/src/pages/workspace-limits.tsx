import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import type { WorkspaceChangeObject, WorkspaceObject } from '../../../src/portal/api/workspaces.ts';
import { Dialog } from '../parts/dialog.tsx';
import { linesOf, TextArea, TextField, textOf } from '../parts/fields.tsx';
import { fieldErrors, FormEnd } from '../parts/form-end.tsx';
import { countOf, countText, TokensField } from './limit-fields.tsx';
import { changedNotEnforced, limitsOfWorkspace, NotEnforced } from './not-enforced.tsx';

interface WorkspaceLimitsProps {
  readonly of: WorkspaceObject;
  readonly onClose: () => void;
  readonly onSubmit: (given: WorkspaceChangeObject) => Promise<void>;
}

const fields = ['max_in_flight', 'tokens_per_minute', 'tag_tokens_per_minute', 'labels', 'not_enforced'] as const;

type RecordField = 'labels' | 'tag_tokens_per_minute';
const separators = { labels: '=', tag_tokens_per_minute: ': ' } as const;

const linesText = (of: WorkspaceObject, field: RecordField): string =>
  Object.entries(of[field] ?? {})
    .map(([name, value]) => `${name}${separators[field]}${value}`)
    .join('\n');

/** What stands before and after the last separator of each line. The server refuses a line without one. */
function recordOf<Value>(text: string, separator: RegExp, valueOf: (part: string) => Value): Record<string, Value> {
  const parts = linesOf(text).map((line) => separator.exec(line) ?? [line, line, '']);
  return Object.fromEntries(parts.map(([, name = '', value = '']) => [name, valueOf(value)]));
}

const orNone = <Some extends object>(record: Some): Some | null => (Object.keys(record).length === 0 ? null : record);

/** A change of a workspace's limits and labels. */
export function WorkspaceLimits({ of, onClose, onSubmit }: WorkspaceLimitsProps) {
  const change = useMutation({ mutationFn: onSubmit, onSuccess: onClose });
  const first = { labels: linesText(of, 'labels'), tag_tokens_per_minute: linesText(of, 'tag_tokens_per_minute') };
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [most, tokens] = [textOf(form, 'max_in_flight'), textOf(form, 'tokens_per_minute')];
    const [labels, ofTags] = [textOf(form, 'labels'), textOf(form, 'tag_tokens_per_minute')];
    // An unchanged field is not sent: it may be out of date.
    const given: WorkspaceChangeObject = {
      ...(most !== String(of.max_in_flight) && { max_in_flight: Number(most) }),
      ...(tokens !== countText(of.tokens_per_minute) && { tokens_per_minute: countOf(tokens) }),
      ...(ofTags !== first.tag_tokens_per_minute && {
        tag_tokens_per_minute: orNone(recordOf(ofTags, /^(.*\S)\s*:\s*(\S*)$/, Number)),
      }),
      ...(labels !== first.labels && { labels: orNone(recordOf(labels, /^([^=]*\S)\s*=\s*(.*)$/, String)) }),
      ...changedNotEnforced(limitsOfWorkspace, of.not_enforced, form),
    };
    if (Object.keys(given).length === 0) onClose();
    else change.mutate(given);
  };
  const errorOf = fieldErrors(change);
  return (
    <Dialog title={`Limits of ${of.name}`} isOpen onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <div className="form-grid">
          <TextField
            label="Requests at once"
            name="max_in_flight"
            inputMode="numeric"
            autoFocus
            defaultValue={String(of.max_in_flight)}
            error={errorOf('max_in_flight')}
          />
          <TokensField first={countText(of.tokens_per_minute)} error={errorOf('tokens_per_minute')} />
        </div>
        <TextArea
          label="Tokens a minute of tags"
          name="tag_tokens_per_minute"
          rows={2}
          defaultValue={first.tag_tokens_per_minute}
          error={errorOf('tag_tokens_per_minute')}
          hint="One in each line, such as team=search: 60000. Empty for no limits."
        />
        <NotEnforced limits={limitsOfWorkspace} first={of.not_enforced} error={errorOf('not_enforced')} />
        <TextArea
          label="Labels"
          name="labels"
          rows={2}
          defaultValue={first.labels}
          error={errorOf('labels')}
          hint="NAME=VALUE, one in each line, such as cost-centre=42. Statements show them."
        />
        <FormEnd action="Save" state={change} fields={fields} onClose={onClose} />
      </form>
    </Dialog>
  );
}
