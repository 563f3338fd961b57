import { type FormEvent, useState } from 'react';
import type { IdentityObject, NewIdentityObject } from '../../../src/portal/api/identities.ts';
import { useWorkspaceChoices } from '../data/workspaces.ts';
import { changedFields, linesOf, optionsOf, pairsText, Select, TextArea, TextField } from '../parts/fields.tsx';
import { fieldsOf, FormEnd, type FormState } from '../parts/form-end.tsx';
import { Waiting } from '../parts/states.tsx';
import { type ChangedLimits, changedLimits, LimitFields, limitTexts } from './limit-fields.tsx';

/** The fields that differ from the first values of the form. */
export type IdentityFields = ChangedLimits & Partial<Omit<NewIdentityObject, keyof ChangedLimits>>;

interface IdentityFormProps {
  readonly action: string;
  /** The identity that is edited. */
  readonly of?: IdentityObject;
  readonly state: FormState;
  readonly onClose: () => void;
  readonly onSubmit: (changed: IdentityFields) => void;
}

const textsOf = (of: IdentityObject | undefined) => ({
  name: of?.name ?? '',
  issuer: of?.issuer ?? '',
  audience: of?.audience ?? '',
  match: of?.match.join('\n') ?? '',
  workspace: of?.workspace ?? '',
  workspace_claim: of?.workspace_claim ?? '',
  each: of?.each ?? 'identity',
  tags: pairsText(of?.tags),
  bound: of?.bound === true ? 'yes' : 'no',
});

/** The values of fields in the API. */
const values = {
  ...{ name: String, issuer: String, audience: String, workspace: String, workspace_claim: String },
  match: linesOf,
  each: (text: string) => (text === 'subject' ? text : 'identity'),
  tags: (text: string): Record<string, string> =>
    Object.fromEntries(
      linesOf(text).map((line) => {
        const [name = '', rule = ''] = line.split(/\s*=\s*(.*)/s, 2);
        return [name, rule];
      }),
    ),
  bound: (text: string) => text === 'yes',
};

/** Form for the rules and the limits of a new or existing identity. */
export function IdentityForm({ action, of, state, onClose, onSubmit }: IdentityFormProps) {
  // The values that the form showed at first, also if the identity changes meanwhile.
  const [first] = useState(() => ({ ...textsOf(of), ...limitTexts(of) }));
  const [payer, setPayer] = useState(of?.workspace === null ? 'workspace_claim' : 'workspace');
  const choices = useWorkspaceChoices();
  if (choices === undefined) return <Waiting lines={4} />;
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    onSubmit({ ...changedFields(form, first, values), ...changedLimits(form, first) });
  };
  const fieldOf = fieldsOf(first, state);
  const names = new Set([...(of?.workspace ? [of.workspace] : []), ...choices.map(({ name }) => name)]);
  return (
    <form className="stack" onSubmit={submit}>
      {of === undefined && <TextField label="Name" required autoFocus maxLength={64} {...fieldOf('name')} />}
      <TextField
        label="Issuer"
        required
        {...fieldOf('issuer')}
        hint="The address in iss, or cluster for the API server of Kubernetes."
      />
      <TextField label="Audience" required {...fieldOf('audience')} hint="Must be in aud." />
      <TextArea
        label="Match"
        rows={3}
        required
        {...fieldOf('match')}
        hint="CEL over claims, an expression in each line. All must be true."
      />
      <div className="form-grid">
        <Select
          label="Payer"
          value={payer}
          onChange={setPayer}
          options={[
            { value: 'workspace', label: 'One workspace' },
            { value: 'workspace_claim', label: 'The workspace that a claim names' },
          ]}
        />
        {payer === 'workspace' ? (
          <Select label="Workspace" {...fieldOf('workspace')} options={optionsOf(names)} />
        ) : (
          <TextField
            label="Claim"
            required
            {...fieldOf('workspace_claim')}
            hint="CEL that returns the name of a workspace, such as claims.team."
          />
        )}
      </div>
      <Select
        label="Limits of"
        {...fieldOf('each')}
        options={[
          { value: 'identity', label: 'All subjects together' },
          { value: 'subject', label: 'Each subject' },
        ]}
      />
      <LimitFields fieldOf={fieldOf} />
      <TextArea label="Tags" rows={2} {...fieldOf('tags')} hint="NAME=CEL, one in each line, such as app=claims.sub." />
      <Select
        label="Bound"
        {...fieldOf('bound')}
        options={[
          { value: 'no', label: 'No' },
          { value: 'yes', label: 'Yes: the ServiceAccount and the pod of a token must still exist' },
        ]}
      />
      <FormEnd action={action} state={state} fields={Object.keys(first)} onClose={onClose} />
    </form>
  );
}
