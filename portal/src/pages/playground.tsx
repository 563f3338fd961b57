import { type FormEvent, type KeyboardEvent, useEffect, useReducer, useRef, useState } from 'react';
import { randomId } from '../data/api.ts';
import { ask, type PlaygroundCall } from '../data/chat.ts';
import {
  type ChatImage,
  type ChatRequest,
  chatRequest,
  type ChatSettings,
  type Question,
} from '../data/chat-request.ts';
import { useChosenWorkspace } from '../data/workspaces.ts';
import { Button } from '../parts/button.tsx';
import { TextArea, textOf } from '../parts/fields.tsx';
import { Card, Page } from '../parts/page.tsx';
import { Empty, Problem } from '../parts/states.tsx';
import { PlaygroundCode, type ShownRequests } from './playground-code.tsx';
import { afterStep, type Conversation, hasCalls, isUnderWay, pastOf } from './playground-conversation.ts';
import { PlaygroundImages } from './playground-images.tsx';
import { type ChosenModels, makesVectors, ModelSelects, useChosenModels } from './playground-models.tsx';
import {
  type FieldErrors,
  featuresOf,
  PlaygroundKey,
  PlaygroundSettings,
  readSettings,
} from './playground-settings.tsx';
import { Turn } from './playground-turn.tsx';
import { PlaygroundVectors } from './playground-vectors.tsx';

const imagesOf = (turns: Conversation): readonly ChatImage[] => turns.flatMap(({ question }) => question.images);

/** Tries a model of the catalog through the gateway, as a client does. Leaving the page deletes what was said. */
export function PlaygroundPage() {
  const models = useChosenModels();
  const [model] = models.known;
  return model !== undefined && makesVectors(model) ? (
    <PlaygroundVectors key={model.id} models={models} model={model} />
  ) : (
    <Chat models={models} />
  );
}

/** A conversation, and the requests of it that have not ended. */
function useConversation() {
  const [turns, step] = useReducer(afterStep, []);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  /** Sends the request of the model at a place, and reports its answer until it ends. */
  const askOne = async (at: number, request: ChatRequest, call: PlaygroundCall): Promise<void> => {
    try {
      await ask(request, { ...call, onAnswer: (answer) => step({ kind: 'grow', at, answer }) });
      step({ kind: 'end', at, end: 'complete' });
    } catch (thrown) {
      const problem = thrown instanceof Error ? thrown : new Error(String(thrown));
      step({ kind: 'end', at, end: call.signal.aborted ? 'stopped' : problem });
    }
  };
  const begin = (): AbortSignal => {
    running.current = new AbortController();
    return running.current.signal;
  };
  return { turns, step, askOne, begin, stop: () => running.current?.abort() };
}

/** Sends questions to one or two models. */
function Chat({ models }: { readonly models: ChosenModels }) {
  const { chosen, known, error } = models;
  const features = featuresOf(known);
  const workspace = useChosenWorkspace();
  const { turns, step, askOne, begin, stop } = useConversation();
  const [images, setImages] = useState<readonly ChatImage[]>([]);
  const [errors, setErrors] = useState<FieldErrors>({});
  const [shown, setShown] = useState<ShownRequests>();
  const form = useRef<HTMLFormElement>(null);
  const isBusy = isUnderWay(turns);

  /** The settings of the form. Undefined: a field is wrong, and says so. */
  const settingsOf = (fields: FormData): ChatSettings | undefined => {
    const { settings, errors: found } = { settings: undefined, ...readSettings(fields) };
    setErrors(found ?? {});
    return settings;
  };
  const requestsOf = (question: Question, before: Conversation, settings: ChatSettings): readonly ChatRequest[] =>
    chosen.map((model, at) => chatRequest({ model, settings, past: pastOf(before, at), question }));
  const attached = features.images ? images : [];

  const submit = async (of: HTMLFormElement): Promise<void> => {
    const fields = new FormData(of);
    const question = { text: textOf(fields, 'message'), images: attached };
    if (question.text === '' || chosen.length === 0 || workspace === undefined || isBusy) return;
    const settings = settingsOf(fields);
    if (settings === undefined) return;
    const asked = chosen.map((model) => ({ model, requestId: randomId() }));
    step({ kind: 'ask', question, asked });
    setImages([]);
    const message = of.elements.namedItem('message');
    if (message instanceof HTMLTextAreaElement) {
      message.value = '';
      message.focus();
    }
    const call = { workspace: workspace.id, ownKey: textOf(fields, 'key') || undefined, signal: begin() };
    await Promise.all(
      requestsOf(question, turns, settings).map((request, at) =>
        askOne(at, request, { ...call, requestId: asked[at]?.requestId ?? randomId() }),
      ),
    );
  };

  /** Asks a model the last question once more, with the settings that the form has now. */
  const retry = (at: number): void => {
    const last = turns.at(-1);
    const model = last?.answers[at]?.model;
    if (form.current === null || last === undefined || model === undefined || workspace === undefined) return;
    const fields = new FormData(form.current);
    const settings = hasValidNumbers(form.current) ? settingsOf(fields) : undefined;
    if (settings === undefined) return;
    const call = { workspace: workspace.id, ownKey: textOf(fields, 'key') || undefined, requestId: randomId() };
    step({ kind: 'retry', at, requestId: call.requestId });
    const past = pastOf(turns.slice(0, -1), at);
    void askOne(at, chatRequest({ model, settings, past, question: last.question }), { ...call, signal: begin() });
  };

  /** Shows the question that is being written, or else the last one. */
  const showCode = (): void => {
    if (form.current === null || !hasValidNumbers(form.current)) return;
    const fields = new FormData(form.current);
    const settings = settingsOf(fields);
    if (settings === undefined) return;
    const text = textOf(fields, 'message');
    const last = text === '' ? turns.at(-1) : undefined;
    const question = last?.question ?? { text: text || 'Hello!', images: attached };
    const before = last === undefined ? turns : turns.slice(0, -1);
    setShown({
      requests: requestsOf(question, before, settings),
      images: [...imagesOf(before), ...question.images],
    });
  };

  const clear = (
    <Button isDisabled={turns.length === 0 || isBusy} onPress={() => step({ kind: 'clear' })}>
      Clear
    </Button>
  );
  return (
    <Page
      title="Playground"
      about="Chats go through the gateway, like those of a client. They are billed and not stored."
      actions={clear}
    >
      {error !== null && <Problem error={error} />}
      <form
        ref={form}
        className="playground"
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <div className="conversation">
          {turns.length === 0 ? (
            <Empty title="Ask something">The answer comes in as the model writes it.</Empty>
          ) : (
            turns.map((turn, index) => (
              <Turn key={index} of={turn} onRetry={isBusy || index < turns.length - 1 ? undefined : retry} />
            ))
          )}
          <div className="composer">
            <Card>
              <div className="stack">
                <TextArea
                  label={hasCalls(turns) ? 'Result of the calls' : 'Message'}
                  name="message"
                  required
                  rows={2}
                  onKeyDown={sendOnEnter}
                />
                {features.images && (
                  <PlaygroundImages
                    images={images}
                    bytesBefore={imagesOf(turns).reduce((sum, { bytes }) => sum + bytes, 0)}
                    onChange={setImages}
                  />
                )}
                <div className="actions" style={{ justifyContent: 'flex-end' }}>
                  <span className="small muted">Enter sends, Shift + Enter breaks the line</span>
                  <Button isDisabled={chosen.length === 0} onPress={showCode}>
                    Show as code
                  </Button>
                  {isBusy ? (
                    <Button key="stop" icon="stop" onPress={stop}>
                      Stop
                    </Button>
                  ) : (
                    <Button
                      key="send"
                      type="submit"
                      kind="primary"
                      icon="send"
                      isDisabled={chosen.length === 0 || workspace === undefined}
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
            <ModelSelects of={models} />
            <PlaygroundKey />
            <PlaygroundSettings features={features} errors={errors} />
          </div>
        </Card>
      </form>
      {shown !== undefined && <PlaygroundCode of={shown} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

/** Whether all numbers are in their range. The browser shows the first that is not. */
const hasValidNumbers = ({ elements }: HTMLFormElement): boolean =>
  [...elements].every(
    (field) => !(field instanceof HTMLInputElement) || field.type !== 'number' || field.reportValidity(),
  );

/** Enter sends, except while it ends a word of an input method. */
function sendOnEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
