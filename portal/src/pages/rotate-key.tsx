import { useMutation } from '@tanstack/react-query';
import type { KeyObject, KeyRotationObject, RotatedKeyObject } from '../../../src/portal/api/keys.ts';
import { call } from '../data/api.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { TextField, textOf } from '../parts/fields.tsx';
import { Problem } from '../parts/states.tsx';

interface RotateKeyProps {
  readonly of: KeyObject;
  readonly onClose: () => void;
  readonly onRotated: (key: RotatedKeyObject) => Promise<void>;
}

/** Makes a new key in place of another one, which stays valid for some hours, so that no call fails meanwhile. */
export function RotateKey({ of, onClose, onRotated }: RotateKeyProps) {
  const rotate = useMutation({
    mutationFn: (body: KeyRotationObject) => call<RotatedKeyObject>(`/keys/${of.id}/rotate`, { method: 'POST', body }),
    onSuccess: onRotated,
  });
  return (
    <Dialog title="Rotate key" isOpen onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          rotate.mutate({ overlap_hours: Number(textOf(new FormData(event.currentTarget), 'hours')) });
        }}
      >
        <p>
          A new key with the settings of <strong>{of.name ?? of.prefix ?? of.id}</strong> is made. Both keys work until
          this one expires.
        </p>
        <TextField
          label="Hours until this key expires"
          name="hours"
          type="number"
          min={1}
          max={720}
          required
          autoFocus
          defaultValue="24"
          hint={
            of.budget === null
              ? 'Give the new key to your application within this time.'
              : 'Give the new key to your application within this time. Until then both can spend what is left of the budget.'
          }
        />
        {rotate.error !== null && <Problem error={rotate.error} />}
        <div className="actions">
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isDisabled={rotate.isPending}>
            Rotate
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
