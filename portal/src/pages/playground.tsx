import { type FormEvent, type KeyboardEvent, useEffect, useReducer, useRef, useState } from 'react';
import { useAddress } from '../data/address.ts';
import { ask, type ChatAnswer, emptyAnswer } from '../data/chat.ts';
import { useChosenWorkspace } from '../data/workspaces.ts';
import { Button } from '../parts/button.tsx';
import { Select, TextArea, TextField, textOf } from '../parts/fields.tsx';
import { Card, Page } from '../parts/page.tsx';
import { Empty, Problem } from '../parts/states.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { useModels } from './models.tsx';
import { Turn, type TurnState } from './playground-turn.tsx';

type Conversation = readonly TurnState[];

type Step =
  | { readonly kind: 'ask'; readonly question: string }
  | { readonly kind: 'grow'; readonly answer: ChatAnswer }
  | { readonly kind: 'end'; readonly end: Exclude<TurnState['end'], 'under-way'> }
  | { readonly kind: 'clear' };

function after(turns: Conversation, step: Step): Conversation {
  switch (step.kind) {
    case 'ask':
      return [...turns, { question: step.question, answer: emptyAnswer, end: 'under-way' }];
    case 'grow':
      return turns.with(-1, { ...lastOf(turns), answer: step.answer });
    case 'end':
      return turns.with(-1, { ...lastOf(turns), end: step.end });
    case 'clear':
      return [];
  }
}

function lastOf(turns: Conversation): TurnState {
  const last = turns.at(-1);
  if (last === undefined) throw new Error('a conversation that has not begun cannot go on');
  return last;
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high'] as const;

/** Sends questions to a model through the gateway, as a client does. Leaving the page deletes the conversation. */
export function PlaygroundPage() {
  const models = useModels();
  const workspace = useChosenWorkspace();
  const [{ model: wanted }, change] = useAddress();
  const [turns, step] = useReducer(after, []);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const ids = (models.data?.data ?? []).filter(({ listed }) => listed).map(({ id }) => id);
  // The selected model stays selected when it leaves the list: a question must not go to another model, at another price.
  const [usual, setUsual] = useState<string>();
  if (usual === undefined && ids[0] !== undefined) setUsual(ids[0]);
  const model = wanted ?? usual;
  const offered = model === undefined || ids.includes(model) ? ids : [...ids, model];
  const isUnderWay = turns.at(-1)?.end === 'under-way';

  const submit = async (form: HTMLFormElement): Promise<void> => {
    const fields = new FormData(form);
    const question = textOf(fields, 'message');
    if (question === '' || model === undefined || workspace === undefined || isUnderWay) return;
    const system = textOf(fields, 'system');
    const controller = new AbortController();
    running.current = controller;
    step({ kind: 'ask', question });
    const field = form.elements.namedItem('message');
    if (field instanceof HTMLTextAreaElement) field.value = '';
    try {
      await ask(
        {
          model,
          temperature: textOf(fields, 'temperature') === '' ? undefined : Number(textOf(fields, 'temperature')),
          reasoning_effort: textOf(fields, 'effort') === '' ? undefined : textOf(fields, 'effort'),
          messages: [
            ...(system === '' ? [] : [{ role: 'system', content: system } as const]),
            ...turns.flatMap((turn) => [
              { role: 'user', content: turn.question } as const,
              { role: 'assistant', content: turn.answer.text } as const,
            ]),
            { role: 'user', content: question },
          ],
        },
        {
          workspace: workspace.id,
          signal: controller.signal,
          onAnswer: (answer) => step({ kind: 'grow', answer }),
        },
      );
      step({ kind: 'end', end: 'complete' });
    } catch (error) {
      const problem = error instanceof Error ? error : new Error(String(error));
      step({ kind: 'end', end: controller.signal.aborted ? 'stopped' : problem });
    }
  };

  const clear = (
    <Button isDisabled={turns.length === 0 || isUnderWay} onPress={() => step({ kind: 'clear' })}>
      Clear
    </Button>
  );
  return (
    <Page
      title="Playground"
      about="Chats go through the gateway, like those of a client. They are billed and not stored."
      actions={clear}
    >
      {models.isError && <Problem error={models.error} />}
      <form
        className="playground"
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <div className="conversation">
          {turns.length === 0 ? (
            <Empty title="Ask something">
              <p>The answer comes in as the model writes it.</p>
            </Empty>
          ) : (
            turns.map((turn, index) => <Turn key={index} of={turn} />)
          )}
          <div className="composer">
            <Card>
              <div className="stack">
                <TextArea label="Message" name="message" required rows={3} onKeyDown={sendOnEnter} />
                <div className="actions" style={{ justifyContent: 'flex-end' }}>
                  <span className="hint">Ctrl + Enter sends</span>
                  {isUnderWay ? (
                    <Button key="stop" icon="stop" onPress={() => running.current?.abort()}>
                      Stop
                    </Button>
                  ) : (
                    <Button
                      key="send"
                      type="submit"
                      kind="primary"
                      icon="send"
                      isDisabled={model === undefined || workspace === undefined}
                    >
                      Send
                    </Button>
                  )}
                </div>
              </div>
            </Card>
          </div>
        </div>
        <Card title="Settings">
          <div className="stack">
            <WorkspaceSelect />
            <Select
              label="Model"
              name="model"
              value={model ?? ''}
              onChange={(value) => change({ model: value })}
              options={offered.map((id) => ({ value: id, label: id }))}
            />
            <TextArea label="System prompt" name="system" rows={4} />
            <TextField
              label="Temperature"
              name="temperature"
              type="number"
              min={0}
              max={2}
              step={0.1}
              placeholder="1"
            />
            <Select
              label="Reasoning effort"
              name="effort"
              options={[
                { value: '', label: 'As the model does' },
                ...efforts.map((effort) => ({ value: effort, label: effort })),
              ]}
            />
          </div>
        </Card>
      </form>
    </Page>
  );
}

function sendOnEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
