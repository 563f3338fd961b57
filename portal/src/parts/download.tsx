import { useState } from 'react';
import { send } from '../data/api.ts';
import { Button } from './button.tsx';
import { Problem } from './states.tsx';

interface DownloadProps {
  /** Path of the admin API, which answers with CSV if that is accepted. */
  readonly path: string;
  /** Name of the file. */
  readonly file: string;
  /** Default: `Download CSV`. */
  readonly label?: string;
}

/** Downloads a list as a file of CSV: all its lines, from the path that the page shows. */
export function Download({ path, file, label = 'Download CSV' }: DownloadProps) {
  const [state, setState] = useState<'ready' | 'loading' | Error>('ready');
  const download = async (): Promise<void> => {
    setState('loading');
    try {
      const answer = await send(path, { accept: 'text/csv' });
      const address = URL.createObjectURL(await answer.blob());
      const link = document.createElement('a');
      link.href = address;
      link.download = file;
      link.click();
      URL.revokeObjectURL(address);
      setState('ready');
    } catch (problem) {
      setState(problem instanceof Error ? problem : new Error(String(problem)));
    }
  };
  return (
    <>
      {state instanceof Error && <Problem error={state} />}
      <Button icon="download" isDisabled={state === 'loading'} onPress={() => void download()}>
        {state === 'loading' ? 'Downloading …' : label}
      </Button>
    </>
  );
}
