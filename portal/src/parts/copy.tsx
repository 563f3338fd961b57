import { useEffect, useState } from 'react';
import { Button } from './button.tsx';

const shownMs = 2_000;

interface CopyProps {
  readonly text: string;
  /** Names the copied text for screen readers. */
  readonly label?: string;
  /** The words of the button. */
  readonly word?: string;
  readonly size?: 'small';
}

/** Copies a text to the clipboard and confirms it. */
export function Copy({ text, label, word: usual = 'Copy', size }: CopyProps) {
  const [state, setState] = useState<'ready' | 'copied' | 'refused'>('ready');
  useEffect(() => {
    if (state === 'ready') return;
    const timer = setTimeout(() => setState('ready'), shownMs);
    return () => clearTimeout(timer);
  }, [state]);
  const word = { ready: usual, copied: 'Copied', refused: 'Not copied' }[state];
  return (
    <>
      <Button
        {...(size === undefined ? {} : { size })}
        icon={state === 'copied' ? 'check' : 'copy'}
        aria-label={label === undefined ? word : `${word} ${label}`}
        onPress={() => void copy(text).then((done) => setState(done ? 'copied' : 'refused'))}
      >
        {word}
      </Button>
      <span className="visually-hidden" role="status">
        {state === 'ready' ? '' : word}
      </span>
    </>
  );
}

/** The clipboard interface exists only on HTTPS and on the loopback. Elsewhere the old command is used. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
