import type { KeyObject, KeyRotationObject, RotatedKeyObject } from '../../../src/portal/api/keys.ts';
import { call } from '../data/api.ts';
import { TextField, textOf } from '../parts/fields.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';

interface RotateKeyProps {
  readonly of: KeyObject;
  readonly onClose: () => void;
  readonly onRotated: (key: RotatedKeyObject) => void;
}

const spending = ' Until then both can spend the rest of the budget.';

/** Makes a new key in place of another one, which stays valid for some hours, so that no call fails meanwhile. */
export function RotateKey({ of, onClose, onRotated }: RotateKeyProps) {
  return (
    <FormDialog
      title="Rotate key"
      action="Rotate"
      first={{ overlap_hours: '24' }}
      read={(form): KeyRotationObject => ({ overlap_hours: Number(textOf(form, 'overlap_hours')) })}
      onClose={onClose}
      onSubmit={async (body) => onRotated(await call(`/keys/${of.id}/rotate`, { method: 'POST', body }))}
    >
      {(fieldOf) => (
        <>
          <p>
            This creates a new key with the settings of <strong>{of.name ?? of.prefix ?? of.id}</strong>. Both keys work
            until this one expires.
          </p>
          <TextField
            label="Hours until this key expires"
            type="number"
            min={1}
            max={720}
            required
            autoFocus
            hint={`Give the new key to your application within this time.${of.budget === null ? '' : spending}`}
            {...fieldOf('overlap_hours')}
          />
        </>
      )}
    </FormDialog>
  );
}
