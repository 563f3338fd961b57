import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Button } from './button.tsx';
import { Copy } from './copy.tsx';
import { TextField } from './fields.tsx';

interface SecretPanelProps {
  readonly title: string;
  /** Of the field with the secret. */
  readonly label: string;
  readonly hint: string;
  readonly secret: string;
  readonly onDone: () => void;
  /** Further buttons. */
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

/**
 * A secret that is shown once. It is on the page and not in a dialog, because Escape closes a dialog. The field gets it as a
 * property: an attribute would be part of the page's HTML.
 */
export function SecretPanel({ title, hint, label, secret, onDone, actions, children }: SecretPanelProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current === null) return;
    field.current.value = secret;
    field.current.focus();
    field.current.select();
  }, [secret]);
  return (
    <section className="card secret-panel stack" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <TextField className="input mono" label={label} hint={hint} ref={field} readOnly />
      <div className="actions">
        <Copy text={secret} />
        {actions}
        <Button kind="primary" onPress={onDone}>
          Done
        </Button>
      </div>
      {children}
    </section>
  );
}
