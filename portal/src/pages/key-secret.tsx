import { useEffect, useId, useRef } from 'react';
import type { CreatedKeyObject } from '../../../src/portal/api/keys.ts';
import { Button } from '../parts/button.tsx';
import { Copy } from '../parts/copy.tsx';

/**
 * The text of a new key. It is on the page and not in a dialog, because a click outside closes a dialog. The field gets the text as a
 * property: an attribute would be part of the page's HTML.
 */
export function KeySecret({ created, onDone }: { readonly created: CreatedKeyObject; readonly onDone: () => void }) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current === null) return;
    field.current.value = created.key;
    field.current.focus();
    field.current.select();
  }, [created]);
  return (
    <section className="card secret-panel stack" aria-labelledby={`${id}-title`}>
      <div>
        <h2 id={`${id}-title`}>{created.name === null ? 'Key created' : `Key “${created.name}” created`}</h2>
        <p className="muted" id={`${id}-hint`}>
          Copy it now: it is shown this once. Only its hash is stored.
        </p>
      </div>
      <div className="secret-row">
        <div className="field">
          <label htmlFor={id}>API key</label>
          <input
            className="input mono"
            id={id}
            ref={field}
            readOnly
            spellCheck={false}
            aria-describedby={`${id}-hint`}
          />
        </div>
        <div className="actions">
          <Copy text={created.key} />
          <Button kind="primary" onPress={onDone}>
            Done
          </Button>
        </div>
      </div>
    </section>
  );
}
