import { useMutation } from '@tanstack/react-query';
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
  const download = useMutation({
    mutationFn: async () => {
      const answer = await send(path, { accept: 'text/csv' });
      const address = URL.createObjectURL(await answer.blob());
      const link = document.createElement('a');
      link.href = address;
      link.download = file;
      link.click();
      URL.revokeObjectURL(address);
    },
  });
  return (
    <>
      {download.error !== null && <Problem error={download.error} />}
      <Button icon="download" isDisabled={download.isPending} onPress={() => download.mutate()}>
        {download.isPending ? 'Downloading …' : label}
      </Button>
    </>
  );
}
