import { useState } from 'react';
import { codeOf } from '../data/chat-code.ts';
import type { ChatImage, ChatRequest } from '../data/chat-request.ts';
import { useGatewayUrl } from '../data/session.ts';
import { Button } from '../parts/button.tsx';
import { CodeTabs } from '../parts/code-tabs.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { optionsOf } from '../parts/fields.tsx';
import { Segments } from '../parts/segments.tsx';

/** Requests of the playground, one for each chosen model, and the images in them. */
export interface ShownRequests {
  readonly requests: readonly ChatRequest[];
  readonly images: readonly ChatImage[];
}

interface PlaygroundCodeProps {
  readonly of: ShownRequests;
  readonly onClose: () => void;
}

/** The next question as programs that ask it. */
export function PlaygroundCode({ of: { requests, images }, onClose }: PlaygroundCodeProps) {
  const url = useGatewayUrl();
  const [wanted, setWanted] = useState('');
  const request = requests.find(({ model }) => model === wanted) ?? requests[0];
  if (request === undefined) return null;
  const files = new Map(images.map((image) => [image.url, image.name]));
  return (
    <Dialog title="The question as code" onClose={onClose} isWide>
      {requests.length > 1 && (
        <Segments
          label="Model"
          value={request.model}
          options={optionsOf(requests.map(({ model }) => model))}
          onChange={setWanted}
        />
      )}
      <p className="small muted">
        The key comes from the variable WEIR_KEY{images.length > 0 && ', images from their files'}.
      </p>
      <CodeTabs key={request.model} of={request.model} examples={codeOf(request, { url, files })} />
      <div className="actions">
        <Button onPress={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
