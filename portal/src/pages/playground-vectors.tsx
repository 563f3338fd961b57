import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { randomId } from '../data/api.ts';
import { cosineOf, vectorsOf } from '../data/vectors.ts';
import { useChosenWorkspace } from '../data/workspaces.ts';
import { formatCount } from '../format/format.ts';
import { Button } from '../parts/button.tsx';
import { TextArea, TextField, textOf } from '../parts/fields.tsx';
import { Card, Facts, Page } from '../parts/page.tsx';
import { Problem } from '../parts/states.tsx';
import { type ChosenModels, ModelSelects } from './playground-models.tsx';
import { PlaygroundKey } from './playground-settings.tsx';
import { ServedFacts } from './served-facts.tsx';

const compared = {
  first: 'The ship left the harbour at dawn.',
  second: 'A boat sailed early in the morning.',
  third: 'Interest rates rose again.',
};

/** Numbers of a vector that are shown. */
const shownNumbers = 8;

interface Result {
  readonly requestId: string;
  readonly vector: readonly number[];
  /** The nearest text first. */
  readonly near: readonly { readonly text: string; readonly cosine: number }[];
}

interface VectorsProps {
  readonly models: ChosenModels;
  readonly model: ModelObject;
}

/** Makes the vector of a text, and compares it with those of three others. All go in one request. */
export function PlaygroundVectors({ models, model }: VectorsProps) {
  const workspace = useChosenWorkspace();
  const make = useMutation({
    mutationFn: async (fields: FormData): Promise<Result> => {
      const requestId = randomId();
      const signal = new AbortController().signal;
      const texts = ['text', ...Object.keys(compared)].map((name) => textOf(fields, name)).filter(Boolean);
      const how = { workspace: workspace?.id ?? '', ownKey: textOf(fields, 'key') || undefined, requestId, signal };
      const [vector = [], ...others] = await vectorsOf({ model: model.id, texts }, how);
      const near = others.map((other, at) => ({ text: texts[at + 1] ?? '', cosine: cosineOf(vector, other) }));
      return { requestId, vector, near: near.toSorted((a, b) => b.cosine - a.cosine) };
    },
  });
  return (
    <Page
      title="Playground"
      about="Texts go through the gateway, like those of a client. They are billed and not stored."
    >
      <form
        className="playground"
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          if (!make.isPending) make.mutate(new FormData(event.currentTarget));
        }}
      >
        <div className="stack">
          <Card>
            <div className="stack">
              <TextArea
                label="Text"
                name="text"
                required
                rows={2}
                defaultValue="The vessel put to sea at first light."
              />
              <div className="form-grid">
                {Object.entries(compared).map(([name, text]) => (
                  <TextField key={name} label={`Compare with (${name})`} name={name} defaultValue={text} />
                ))}
              </div>
              <div className="actions" style={{ justifyContent: 'flex-end' }}>
                <Button type="submit" kind="primary" isDisabled={workspace === undefined || make.isPending}>
                  Make vectors
                </Button>
              </div>
            </div>
          </Card>
          {make.error !== null && <Problem error={make.error} />}
          {make.data !== undefined && <Vector of={make.data} model={model.id} />}
        </div>
        <Card title="Settings">
          <div className="stack">
            <ModelSelects of={models} />
            <PlaygroundKey />
          </div>
        </Card>
      </form>
    </Page>
  );
}

function Vector({ of: { requestId, vector, near }, model }: { readonly of: Result; readonly model: string }) {
  const numbers = vector.slice(0, shownNumbers).map((number) => number.toFixed(4));
  return (
    <section className="card stack" aria-label={`Vector of ${model}`}>
      <Facts
        facts={[
          { name: 'Numbers', value: formatCount(vector.length) },
          { name: 'The first of them', value: <code>{numbers.join(', ')}</code> },
        ]}
      />
      {near.length > 0 && (
        <div className="stack-tight">
          <h3>Nearest text</h3>
          <ol>
            {near.map(({ text, cosine }, at) => (
              <li key={at}>
                {at === 0 ? <strong>{text}</strong> : text} <span className="muted">cosine {cosine.toFixed(3)}</span>
              </li>
            ))}
          </ol>
        </div>
      )}
      <ServedFacts requestId={requestId} hasEnded of="vectors" />
    </section>
  );
}
