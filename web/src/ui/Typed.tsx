// A text input for moves in any notation: 7g7f, ７六歩, P-7f.
import { useMemo, useState } from 'preact/hooks';
import { t } from '../i18n';
import { notation } from '../settings';
import { lastSquare, moveText, parseTyped } from '../shogi/notation';
import { legalMoves, parsePosition } from '../shogi/position';

export function Typed({ sfen, lastUsi, onMove, disabled }: { sfen: string; lastUsi?: string; onMove: (usi: string) => void; disabled?: boolean }) {
  const [text, setText] = useState('');
  const [isWrong, setWrong] = useState(false);
  const [isUsed, setUsed] = useState(false);
  const style = notation();
  const texts = useMemo(() => {
    const pos = isUsed ? parsePosition(sfen) : undefined;
    return pos ? legalMoves(pos).map(usi => moveText(pos, usi, style, lastSquare(lastUsi))) : [];
  }, [sfen, style, isUsed]);
  return (
    <form
      class="typed"
      onSubmit={e => {
        e.preventDefault();
        const pos = parsePosition(sfen);
        const usi = pos && parseTyped(pos, text, lastUsi);
        setWrong(!usi);
        if (usi) {
          setText('');
          onMove(usi);
        }
      }}
    >
      <input
        id="typed-move"
        list="legal-moves"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-label={t('typed')}
        aria-invalid={isWrong}
        placeholder={t('typed.hint')}
        disabled={disabled}
        value={text}
        onFocus={() => setUsed(true)}
        onInput={e => {
          setText(e.currentTarget.value);
          setWrong(false);
        }}
      />
      <datalist id="legal-moves">
        {texts.map(m => (
          <option key={m} value={m} />
        ))}
      </datalist>
      {isWrong && (
        <span class="problem" role="alert">
          {t('typed.wrong')}
        </span>
      )}
    </form>
  );
}
